// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The records that must be found after a cut, by what {@link SsdWriterMain} said before it. */
final class Promises {
    private final Set<Long> records = new HashSet<>();
    private int acknowledged;

    /** Hears the lines of one life. */
    void hear(List<String> lines) {
        Set<Long> removed = new HashSet<>();
        for (String line : lines) {
            String[] words = line.split(" ");
            if (words[0].equals("REMOVING")) {
                removed.add(Long.parseLong(words[1]));
            } else if (words[0].equals("SYNCED")) {
                records.add(Long.parseLong(words[1]));
                acknowledged++;
            }
        }
        // Another thread may have removed it before its writer came to say that it is synced.
        records.removeAll(removed);
    }

    /** What is found once is there to stay: the index that told so is on the device. */
    void found(Collection<Long> there) {
        records.clear();
        records.addAll(there);
    }

    Set<Long> records() {
        return records;
    }

    /** Records said to be synced in all lives. */
    int acknowledged() {
        return acknowledged;
    }
}
