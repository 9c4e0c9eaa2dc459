// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.ignite.messages;

/**
 * What Ignite's messages over the engine came to, since the start.
 *
 * @param sent messages that peers have confirmed
 * @param received messages handed to Ignite
 * @param bytesSent bytes of the confirmed ones
 * @param piecesSent parts of large messages that peers have read
 * @param repeated questions asked again because no answer came
 * @param duplicates messages that came twice and were handed on once
 * @param takeovers times that Ignite's TCP took over from a lane
 * @param returns times that a lane went on after that
 */
public record MessageStatistics(
        long sent,
        long received,
        long bytesSent,
        long piecesSent,
        long repeated,
        long duplicates,
        long takeovers,
        long returns) {}
