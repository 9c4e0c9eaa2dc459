// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * Memory that is registered with an engine.
 *
 * @param id unique in this engine's life
 * @param bytes its length
 * @param gpu whether it is memory of a GPU
 * @param users transfers that touch it now
 */
public record RegisteredRegion(int id, long bytes, boolean gpu, int users) {}
