// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.policy;

import io.mooncake.base.MooncakeException;
import java.util.List;
import java.util.function.LongSupplier;

/** The policies there are. */
public final class Policies {
    private static final double GDSF_EXPONENT = 1;
    private static final double S3_FIFO_SMALL_SHARE = 0.1;
    private static final int S3_FIFO_USES_TO_STAY = 2;
    private static final double TINY_LFU_WINDOW_SHARE = 0.01;

    private Policies() {}

    /** Names of all policies. */
    public static List<String> names() {
        return List.of(
                LruPolicy.NAME,
                LfuPolicy.NAME,
                GdsfPolicy.NAME,
                S3FifoPolicy.NAME,
                ArcPolicy.NAME,
                TinyLfuPolicy.NAME,
                ReturnIndexPolicy.NAME);
    }

    /**
     * The policy {@code name} with the parameters of its authors.
     *
     * @param slots of the pool, at least 1
     * @param nanoClock the pool's monotonic clock
     */
    public static EvictionPolicy byName(String name, int slots, LongSupplier nanoClock) {
        return switch (name) {
            case LruPolicy.NAME -> lru(slots);
            case LfuPolicy.NAME -> lfu(slots);
            case GdsfPolicy.NAME -> gdsf(slots, GDSF_EXPONENT, 0);
            case S3FifoPolicy.NAME -> s3Fifo(slots, S3_FIFO_SMALL_SHARE, S3_FIFO_USES_TO_STAY);
            case ArcPolicy.NAME -> arc(slots);
            case TinyLfuPolicy.NAME -> tinyLfu(slots, TINY_LFU_WINDOW_SHARE);
            case ReturnIndexPolicy.NAME -> returnIndex(slots, nanoClock);
            default -> throw MooncakeException.invalid("policy", name, "one of " + names());
        };
    }

    /** Least recently used leaf first. */
    public static EvictionPolicy lru(int slots) {
        return new LruPolicy(requireSlots(slots));
    }

    /** Least often used leaf first. */
    public static EvictionPolicy lfu(int slots) {
        return new LfuPolicy(requireSlots(slots));
    }

    /**
     * Greedy-dual by frequency.
     *
     * @param exponent of the count of uses, 0..4, 1 in the original
     * @param history counts of blocks that went to keep, a slot, 0..1000, 0 in the original
     */
    public static EvictionPolicy gdsf(int slots, double exponent, int history) {
        return new GdsfPolicy(
                requireSlots(slots), require("exponent", exponent, 0, 4), (int) require("history", history, 0, 1_000));
    }

    /** S3-FIFO; the original has a small queue of 0.1 of the slots, and two uses to stay. */
    public static EvictionPolicy s3Fifo(int slots, double smallShare, int usesToStay) {
        return new S3FifoPolicy(requireSlots(slots), require("smallShare", smallShare, 0, 1), (int)
                require("usesToStay", usesToStay, 1, 3));
    }

    /** Adaptive replacement. */
    public static EvictionPolicy arc(int slots) {
        return new ArcPolicy(requireSlots(slots));
    }

    /** W-TinyLFU with a window of a fixed share of the slots, 0..1. */
    public static EvictionPolicy tinyLfu(int slots, double windowShare) {
        return new TinyLfuPolicy(requireSlots(slots), require("windowShare", windowShare, 0, 1));
    }

    /** The return index: keeps what is expected to be used again soonest for the time it takes, learned on line. */
    public static EvictionPolicy returnIndex(int slots, LongSupplier nanoClock) {
        return new ReturnIndexPolicy(requireSlots(slots), nanoClock);
    }

    private static int requireSlots(int slots) {
        if (slots < 1 || slots > 1 << 25) {
            throw MooncakeException.invalid("slots", slots, "1.." + (1 << 25));
        }
        return slots;
    }

    private static double require(String name, double value, double least, double most) {
        if (!(value >= least && value <= most)) {
            throw MooncakeException.invalid(name, value, least + ".." + most);
        }
        return value;
    }
}
