// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.etcd;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.metadata.MetadataRecord;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;

/**
 * Records as etcd holds them.
 *
 * <pre>
 * key    /mooncake/1/CLUSTER/OWNER/KEY           1 = version of this form; OWNER a UUID; KEY as in MetadataRecord; all ASCII
 *
 * value   0  form        u8   1
 *         1  version     i64  the owner's count, big-endian
 *         9  value       the rest
 * </pre>
 *
 * <p>The version travels in the value because etcd's own revisions start anew when its data is wiped.
 */
final class EtcdRecordDescriptor {
    private static final byte FORM = 1;
    private static final int HEADER_BYTES = 9;
    private static final int UUID_LENGTH = 36;

    private EtcdRecordDescriptor() {}

    /** Start of all keys of a cluster. */
    static String prefix(String cluster) {
        return "/mooncake/1/" + cluster + "/";
    }

    static String key(String cluster, UUID owner, String key) {
        return prefix(cluster) + owner + "/" + key;
    }

    static byte[] value(MetadataRecord record) {
        return ByteBuffer.allocate(HEADER_BYTES + record.value().length)
                .put(FORM)
                .putLong(record.version())
                .put(record.value())
                .array();
    }

    /** Key and owner in an etcd key, with version 0 and no value; empty when it is none of ours. */
    static Optional<MetadataRecord> name(String prefix, byte[] etcdKey) {
        return record(prefix, etcdKey, 0, new byte[0]);
    }

    /** The record, or empty when key or value have another form: others may write to etcd. */
    static Optional<MetadataRecord> decode(String prefix, byte[] etcdKey, byte[] etcdValue) {
        if (etcdValue.length < HEADER_BYTES || etcdValue[0] != FORM) {
            return Optional.empty();
        }
        ByteBuffer buffer = ByteBuffer.wrap(etcdValue, 1, etcdValue.length - 1);
        long version = buffer.getLong();
        byte[] value = new byte[buffer.remaining()];
        buffer.get(value);
        return record(prefix, etcdKey, version, value);
    }

    private static Optional<MetadataRecord> record(String prefix, byte[] etcdKey, long version, byte[] value) {
        String text = new String(etcdKey, StandardCharsets.US_ASCII);
        int ownerEnd = prefix.length() + UUID_LENGTH;
        if (!text.startsWith(prefix) || text.length() <= ownerEnd + 1 || text.charAt(ownerEnd) != '/') {
            return Optional.empty();
        }
        try {
            String owner = text.substring(prefix.length(), ownerEnd);
            UUID id = UUID.fromString(owner);
            if (!id.toString().equals(owner)) {
                return Optional.empty();
            }
            return Optional.of(new MetadataRecord(text.substring(ownerEnd + 1), id, version, value));
        } catch (IllegalArgumentException | MooncakeException e) {
            return Optional.empty();
        }
    }
}
