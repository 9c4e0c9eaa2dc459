// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.doctor;

/**
 * One line of the doctor.
 *
 * @param state how it stands
 * @param topic what was looked at
 * @param text what was found, with the reason where it lacks
 */
record Finding(State state, String topic, String text) {
    /** How a thing stands. */
    enum State {
        /** It is there. */
        PRESENT("\u2713"),
        /** It is not there; the product works without it unless the text says otherwise. */
        ABSENT("\u2717"),
        /** It is there and needs attention. */
        WARNING("!");

        private final String mark;

        State(String mark) {
            this.mark = mark;
        }

        String mark() {
            return mark;
        }
    }

    static Finding present(String topic, String text) {
        return new Finding(State.PRESENT, topic, text);
    }

    static Finding absent(String topic, String text) {
        return new Finding(State.ABSENT, topic, text);
    }

    static Finding warning(String topic, String text) {
        return new Finding(State.WARNING, topic, text);
    }
}
