// SPDX-License-Identifier: Apache-2.0
package trap;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts how often it was made out of bytes. Stands outside of our packages, where no list has it. */
public final class Trap implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Times that one was read in this process. */
    public static final AtomicInteger SPRUNG = new AtomicInteger();

    private final String where;

    public Trap(String where) {
        this.where = where;
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        SPRUNG.incrementAndGet();
    }

    @Override
    public String toString() {
        return "Trap " + where;
    }

    /** An exception that nobody listed. */
    public static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            SPRUNG.incrementAndGet();
        }
    }
}
