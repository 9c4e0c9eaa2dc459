// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.state;

import io.mooncake.memory.BlockKey;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.IgniteBinary;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rows as binary objects of JDK fields, all of which are always there, null where a kind has no use for one: nodes and clients without our
 * classes read them, and equal rows have equal bytes, which compare-and-replace needs.
 */
final class StateCodec {
    static final String TYPE = "MooncakeState";
    private static final Logger LOG = LoggerFactory.getLogger(StateCodec.class);

    private StateCodec() {}

    /** Names and types of the fields. */
    static LinkedHashMap<String, String> fields() {
        LinkedHashMap<String, String> fields = new LinkedHashMap<>();
        for (String name : new String[] {"kind", "pool", "subject", "text"}) {
            fields.put(name, String.class.getName());
        }
        for (String name : new String[] {"copies", "vocabulary"}) {
            fields.put(name, Integer.class.getName());
        }
        for (String name : new String[] {"dramBytes", "ssdBytes", "leftMillis", "version"}) {
            fields.put(name, Long.class.getName());
        }
        for (String name : new String[] {"node", "incarnation"}) {
            fields.put(name, UUID.class.getName());
        }
        return fields;
    }

    static BinaryObject encode(IgniteBinary binary, Versioned<?> written) {
        StateRow row = written.row();
        BinaryObjectBuilder to = binary.builder(TYPE);
        String kind = row.key().substring(0, row.key().indexOf(':'));
        if (row instanceof StateRow.Pin pin) {
            place(to, kind, pin.pool(), pin.prefix().hex());
            numbers(
                    to,
                    null,
                    null,
                    null,
                    null,
                    pin.left().map(Duration::toMillis).orElse(null));
            to.setField("text", null, String.class);
        } else if (row instanceof StateRow.ReplicaIntent intent) {
            place(to, kind, intent.pool(), intent.prefix().hex());
            numbers(to, intent.copies(), null, null, null, null);
            to.setField("text", intent.tenant(), String.class);
        } else if (row instanceof StateRow.Quota quota) {
            place(to, kind, null, quota.tenant());
            numbers(to, null, null, quota.dramBytes(), quota.ssdBytes(), null);
            to.setField("text", null, String.class);
        } else if (row instanceof StateRow.KnownPool pool) {
            place(to, kind, pool.pool(), pool.digest());
            numbers(to, null, pool.vocabulary(), null, null, null);
            to.setField("text", pool.identity(), String.class);
        }
        return to.setField("version", written.version(), Long.class)
                .setField("node", written.node(), UUID.class)
                .setField("incarnation", written.incarnation(), UUID.class)
                .build();
    }

    private static void place(BinaryObjectBuilder to, String kind, @Nullable String pool, String subject) {
        to.setField("kind", kind, String.class)
                .setField("pool", pool, String.class)
                .setField("subject", subject, String.class);
    }

    private static void numbers(
            BinaryObjectBuilder to,
            @Nullable Integer copies,
            @Nullable Integer vocabulary,
            @Nullable Long dramBytes,
            @Nullable Long ssdBytes,
            @Nullable Long leftMillis) {
        to.setField("copies", copies, Integer.class)
                .setField("vocabulary", vocabulary, Integer.class)
                .setField("dramBytes", dramBytes, Long.class)
                .setField("ssdBytes", ssdBytes, Long.class)
                .setField("leftMillis", leftMillis, Long.class);
    }

    /** The row, or empty for one that somebody else wrote or a later version understands. */
    static Optional<Versioned<?>> decode(BinaryObject value) {
        try {
            return row(value)
                    .map(row -> new Versioned<>(
                            row, value.<Long>field("version"), value.field("node"), value.field("incarnation")));
        } catch (RuntimeException e) {
            LOG.debug("A row of the state was not understood", e);
            return Optional.empty();
        }
    }

    private static Optional<StateRow> row(BinaryObject value) {
        String kind = value.field("kind");
        String pool = value.field("pool");
        String subject = value.field("subject");
        return switch (kind) {
            case "pin" ->
                Optional.of(new StateRow.Pin(
                        pool,
                        BlockKey.parse(subject),
                        Optional.ofNullable(value.<Long>field("leftMillis")).map(Duration::ofMillis)));
            case "replica" ->
                Optional.of(new StateRow.ReplicaIntent(
                        pool, BlockKey.parse(subject), value.<Integer>field("copies"), value.field("text")));
            case "quota" ->
                Optional.of(new StateRow.Quota(subject, value.<Long>field("dramBytes"), value.<Long>field("ssdBytes")));
            case "pool" ->
                Optional.of(
                        new StateRow.KnownPool(pool, subject, value.field("text"), value.<Integer>field("vocabulary")));
            default -> Optional.empty();
        };
    }
}
