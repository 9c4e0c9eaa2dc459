// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.tcp;

import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.RailStatistics;
import io.mooncake.transfer.internal.Region;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The rails to one life of a peer, and which of them a batch goes by.
 *
 * <p>The i-th address of this engine is paired with the i-th of the peer; the side that has fewer uses its own again from the first. An
 * engine without rails of its own lets the system choose where its connections start.
 *
 * <p>Threading: {@link #choose}, {@link #othersMovedSince}, {@link #latestProgress} and {@link #statistics} under the lock of the link;
 * speeds and preferences are looked at without it, where what is a moment old does no harm.
 */
final class Rails {
    private static final double LIGHTEST = 0.01;
    private static final double HEAVIEST = 8;

    private final Rail[] all;

    Rails(PeerAddress peer, List<InetAddress> local) {
        List<String> hosts = new ArrayList<>(peer.rails());
        hosts.add(0, peer.host());
        all = new Rail[Math.max(hosts.size(), local.size())];
        for (int i = 0; i < all.length; i++) {
            int own = local.isEmpty() ? 0 : i % local.size();
            all[i] = new Rail(i, 1 << own, hosts.get(i % hosts.size()), local.isEmpty() ? null : local.get(own));
        }
    }

    Rail[] all() {
        return all;
    }

    int count() {
        return all.length;
    }

    boolean several() {
        return all.length > 1;
    }

    /** The preferred addresses of this engine when one of their rails is up and not {@code tried}, else all. */
    int among(int preferred, int tried) {
        if (preferred != Region.ANY_RAIL) {
            for (Rail rail : all) {
                if (!rail.resting && (preferred & rail.localBit) != 0 && (tried & 1 << rail.index) == 0) {
                    return preferred;
                }
            }
        }
        return Region.ANY_RAIL;
    }

    /** How many are up of those that the preference leaves. */
    int up(int preferred) {
        int among = among(preferred, 0);
        int up = 0;
        for (Rail rail : all) {
            up += rail.resting || (among & rail.localBit) == 0 ? 0 : 1;
        }
        return up;
    }

    /** Speed of the rail in units of the mean of those that the preference leaves. */
    double weight(Rail rail, int preferred) {
        if (!several() || rail.speed() == 0) {
            return 1;
        }
        double mean = meanSpeed(among(preferred, 0));
        return Math.max(LIGHTEST, Math.min(HEAVIEST, rail.speed() / mean));
    }

    private double meanSpeed(int among) {
        double sum = 0;
        int known = 0;
        for (Rail rail : all) {
            if (!rail.resting && (among & rail.localBit) != 0 && rail.speed() > 0) {
                sum += rail.speed();
                known++;
            }
        }
        return known == 0 ? 1 : sum / known;
    }

    /**
     * The rail that is likely to be done first with one more slice: of the preferred ones when one of them is up, however busy they are; one
     * that rests only when there is no other.
     *
     * @param tried bits of those that failed already
     * @param leader whether to try those that rest, too
     * @return null when there is none to be had now
     */
    @Nullable
    Rail choose(int tried, boolean leader, int preferred, int perRail) {
        Rail best = null;
        double least = Double.MAX_VALUE;
        boolean anyUp = false;
        int among = among(preferred, tried);
        double mean = several() ? meanSpeed(among) : 1;
        for (Rail rail : all) {
            if (rail.resting || (tried & 1 << rail.index) != 0 || (among & rail.localBit) == 0) {
                continue;
            }
            anyUp = true;
            if (rail.idle.isEmpty() && rail.open >= perRail) {
                continue;
            }
            double cost = (rail.busy() + 1) * mean / (rail.speed() == 0 ? mean : rail.speed());
            if (cost < least) {
                least = cost;
                best = rail;
            }
        }
        if (anyUp || !leader) {
            return best;
        }
        for (Rail rail : all) {
            if ((tried & 1 << rail.index) == 0 && (!rail.idle.isEmpty() || rail.open < perRail)) {
                return rail;
            }
        }
        return null;
    }

    /** Whether another rail moved a byte since then. */
    boolean othersMovedSince(Rail rail, long nanos) {
        for (Rail other : all) {
            if (other != rail) {
                for (TcpClientConnection connection : other.connections) {
                    if (connection.progressNanos() - nanos > 0) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /** When a connection in use last moved a byte, or {@code heardNanos} when that is later. */
    long latestProgress(long heardNanos) {
        long latest = heardNanos;
        for (Rail rail : all) {
            for (TcpClientConnection connection : rail.connections) {
                if (connection.busy && connection.progressNanos() - latest > 0) {
                    latest = connection.progressNanos();
                }
            }
        }
        return latest;
    }

    List<RailStatistics> statistics() {
        return Arrays.stream(all).map(Rail::statistics).toList();
    }
}
