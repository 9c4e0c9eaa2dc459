// SPDX-License-Identifier: Apache-2.0
package io.mooncake.memory.ssd;

import java.util.SplittableRandom;

/** Stores over devices that tests misuse, for tests of other packages. */
public final class SsdAccess {
    private final FaultyDisk disk;

    /** A device in memory. */
    public SsdAccess() {
        disk = new FaultyDisk(new TestDisk(false));
    }

    /** The store on it. */
    public SsdStore open(SsdSettings settings) {
        return SsdStore.open(settings, disk, System::nanoTime, SsdChecks.ALL);
    }

    /** All operations from now on wait until {@link #letGo}. */
    public void hold() {
        disk.hold();
    }

    /** Waits until one does. */
    public void awaitHeld() {
        disk.awaitHeld();
    }

    /** Ends {@link #hold}. */
    public void letGo() {
        disk.letGo();
    }

    /** Each operation on the index takes {@code millis} from now on, so that a commit takes long. */
    public void slowCommits(long millis) {
        disk.of("index").with(new SplittableRandom(1), 1, millis).fault(FaultyDisk.Fault.STALL, 1.0);
    }

    /** Every read fails from now on. */
    public void failReads() {
        disk.fault(FaultyDisk.Fault.READ_ERROR, 1.0);
    }

    /** So many reads fail from now on. */
    public void failReads(int count) {
        disk.fault(FaultyDisk.Fault.READ_ERROR, 1.0).atMost(FaultyDisk.Fault.READ_ERROR, count);
    }

    /** Every write fails from now on. */
    public void failWrites() {
        disk.fault(FaultyDisk.Fault.WRITE_ERROR, 1.0);
    }

    /** Every sync of the index fails from now on. */
    public void failCommits() {
        disk.of("index").fault(FaultyDisk.Fault.SYNC_ERROR, 1.0);
    }

    /** No file can be made from now on. */
    public void fillUp() {
        disk.fillUp();
    }

    /** Nothing fails any more, and there is room. */
    public void mend() {
        disk.noFaults();
        disk.of("segment");
    }

    /** No file can be made from now on, as where a quota is used up; those that are there can be written. */
    public void quotaExceeded() {
        disk.saying("Disk quota exceeded").fillUp();
    }

    /** Nothing can be written or made from now on; reads work. */
    public void readOnly() {
        disk.saying("Read-only file system").die();
    }

    /** Everything works again. */
    public void works() {
        disk.noFaults();
    }
}
