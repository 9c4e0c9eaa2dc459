// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer;

/**
 * How one rail to a peer does over TCP.
 *
 * @param localAddress address of this machine that it starts from; empty where the system chooses
 * @param peerAddress address of the peer that it leads to
 * @param bytes payload moved over it, both ways
 * @param failures times that it was given up
 * @param bytesPerSecond measured speed of all its connections, 0 when not known
 * @param resting whether it is not used now because it failed
 */
public record RailStatistics(
        String localAddress, String peerAddress, long bytes, long failures, long bytesPerSecond, boolean resting) {}
