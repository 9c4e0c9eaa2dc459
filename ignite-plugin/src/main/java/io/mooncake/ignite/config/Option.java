// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.config;

/**
 * One option of the plugin bean, for documents and messages.
 *
 * @param name property of the bean
 * @param unit unit of its value
 * @param defaultValue value when it is left out
 * @param range what is accepted
 * @param reloads whether a running node takes a new value
 */
public record Option(String name, String unit, String defaultValue, String range, boolean reloads) {}
