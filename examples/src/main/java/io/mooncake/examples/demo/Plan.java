// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import io.mooncake.base.MooncakeException;
import java.util.ArrayList;
import java.util.List;

/**
 * What the demo asks, in which order. Every desk of the rental has a system prompt of its own, which begins with the desk's name, so that
 * nothing is shared between desks; the conversations of one desk share all of it.
 *
 * <ul>
 *   <li>Cold: the first conversation of each desk. The conductor chooses the node; everything is computed there.
 *   <li>Moved: two more conversations of each desk, forced onto the nodes that lack the prefix, one at a time, so that the owners'
 *       counters show each fetch by itself.
 *   <li>Free: all others, several at a time, where the conductor wants them.
 * </ul>
 *
 * @param desks the desks used
 * @param waves requests that may run together, wave after wave; no wave holds two requests of one conversation
 */
record Plan(List<Desk> desks, List<Wave> waves) {
    /** Fewest and most requests of a demo. */
    static final int MIN_REQUESTS = 24;

    static final int MAX_REQUESTS = 400;
    private static final int CONVERSATIONS_PER_DESK = 5;
    private static final int MOVED_PER_DESK = 2;

    /** How a request finds its node. */
    enum Kind {
        COLD,
        MOVED,
        FREE
    }

    /**
     * A desk and where it lies.
     *
     * @param name goes into the system prompt
     * @param place goes into the system prompt
     */
    record Desk(String name, String place) {}

    /**
     * One request.
     *
     * @param index from 1, in order
     * @param desk the desk asked
     * @param conversation unique in the demo
     * @param turn from 1
     * @param kind how it finds its node
     * @param question what the guest asks
     */
    record Request(int index, Desk desk, String conversation, int turn, Kind kind, String question) {}

    /**
     * Requests of one kind.
     *
     * @param name for people
     * @param parallel whether they may run together
     * @param requests in order
     */
    record Wave(String name, boolean parallel, List<Request> requests) {}

    /**
     * A plan of {@code total} requests.
     *
     * @throws MooncakeException INVALID_ARGUMENT when there are too few or too many
     */
    static Plan of(int total) {
        if (total < MIN_REQUESTS || total > MAX_REQUESTS) {
            throw MooncakeException.invalid("--requests", total, MIN_REQUESTS + ".." + MAX_REQUESTS);
        }
        List<Desk> desks = Handbook.lines("desks.txt").stream()
                .map(line -> line.split("\\|", 2))
                .map(parts -> new Desk(parts[0], parts[1]))
                .toList();
        return new Plan(desks, new Builder(desks, total).build());
    }

    /** All requests, in order. */
    List<Request> requests() {
        return waves.stream().flatMap(wave -> wave.requests().stream()).toList();
    }

    /** The system prompt of {@code desk}, without an end of line at its end. */
    static String systemPrompt(Desk desk) {
        return Handbook.text(desk.name(), desk.place());
    }

    /** Counts requests out, wave by wave, until the total is reached. */
    private static final class Builder {
        private final List<Desk> desks;
        private final List<String> questions = Handbook.lines("questions.txt");
        private final int total;
        private int index;

        Builder(List<Desk> desks, int total) {
            this.desks = desks;
            this.total = total;
        }

        List<Wave> build() {
            List<Wave> waves = new ArrayList<>();
            waves.add(new Wave("first guest of each desk", true, firstTurns(Kind.COLD, 0, 1)));
            waves.add(new Wave("same prompt, other node", false, firstTurns(Kind.MOVED, 1, 1 + MOVED_PER_DESK)));
            waves.add(new Wave("more guests", true, firstTurns(Kind.FREE, 1 + MOVED_PER_DESK, CONVERSATIONS_PER_DESK)));
            for (int turn = 2; index < total; turn++) {
                int moved = movedInTurn();
                waves.add(new Wave("turn " + turn + ", moved", false, laterTurns(Kind.MOVED, turn, 0, moved)));
                waves.add(new Wave("turn " + turn, true, laterTurns(Kind.FREE, turn, moved, conversations())));
            }
            waves.removeIf(wave -> wave.requests().isEmpty());
            return waves;
        }

        private int conversations() {
            return desks.size() * CONVERSATIONS_PER_DESK;
        }

        /** A quarter of this turn's requests, rounded up, where the first turns alone do not make a quarter of all. */
        private int movedInTurn() {
            int inTurn = Math.min(conversations(), total - index);
            return 4 * desks.size() * MOVED_PER_DESK >= total ? 0 : (inTurn + 3) / 4;
        }

        private List<Request> firstTurns(Kind kind, int from, int to) {
            List<Request> requests = new ArrayList<>();
            for (int conversation = from; conversation < to; conversation++) {
                for (Desk desk : desks) {
                    add(requests, desk, conversation, 1, kind);
                }
            }
            return requests;
        }

        private List<Request> laterTurns(Kind kind, int turn, int from, int to) {
            List<Request> requests = new ArrayList<>();
            for (int i = from; i < to; i++) {
                add(requests, desks.get(i % desks.size()), i / desks.size(), turn, kind);
            }
            return requests;
        }

        private void add(List<Request> requests, Desk desk, int conversation, int turn, Kind kind) {
            if (index < total) {
                String question = questions.get(index % questions.size());
                index++;
                requests.add(new Request(index, desk, desk.name() + "-" + (conversation + 1), turn, kind, question));
            }
        }
    }
}
