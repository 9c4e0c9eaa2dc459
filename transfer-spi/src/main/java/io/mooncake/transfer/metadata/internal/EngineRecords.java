// SPDX-License-Identifier: Apache-2.0
package io.mooncake.transfer.metadata.internal;

import io.mooncake.base.MooncakeException;
import io.mooncake.transfer.PeerAddress;
import io.mooncake.transfer.metadata.EngineListener;
import io.mooncake.transfer.metadata.EngineRecord;
import io.mooncake.transfer.metadata.MetadataListener;
import io.mooncake.transfer.metadata.MetadataRecord;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;

/**
 * Engines as records. The value is text, for operators' eyes: the {@link PeerAddress} in its text form, then one {@code name=value} a line,
 * values URL-encoded; UTF-8. What follows in later versions comes as further names.
 */
public final class EngineRecords {
    /** Keys of engines start so. */
    public static final String PREFIX = "engine/";

    private EngineRecords() {}

    /** The key of an engine. */
    public static String key(UUID incarnation) {
        return PREFIX + incarnation;
    }

    /** The value of an engine's record. */
    public static byte[] encode(EngineRecord engine) {
        StringBuilder text = new StringBuilder(engine.address().encode());
        engine.attributes().forEach((name, value) -> text.append('\n')
                .append(name)
                .append('=')
                .append(URLEncoder.encode(value, StandardCharsets.UTF_8)));
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** The engine in a record, or empty when the record is none: others wrote it, so nothing in it is believed. */
    public static Optional<EngineRecord> decode(MetadataRecord record) {
        try {
            String[] lines = new String(record.value(), StandardCharsets.UTF_8).split("\n", -1);
            PeerAddress address = PeerAddress.parse(lines[0]);
            if (!key(address.incarnation()).equals(record.key())) {
                return Optional.empty();
            }
            Map<String, String> attributes = new TreeMap<>();
            for (int i = 1; i < lines.length; i++) {
                int at = lines[i].indexOf('=');
                if (at < 0) {
                    return Optional.empty();
                }
                attributes.put(
                        lines[i].substring(0, at),
                        URLDecoder.decode(lines[i].substring(at + 1), StandardCharsets.UTF_8));
            }
            return Optional.of(new EngineRecord(address, attributes));
        } catch (MooncakeException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** The engine with the highest version among records of one key. */
    public static Optional<EngineRecord> newest(List<MetadataRecord> records) {
        return records.stream()
                .sorted(Comparator.comparingLong(MetadataRecord::version)
                        .reversed()
                        .thenComparing(MetadataRecord::owner))
                .flatMap(record -> decode(record).stream())
                .findFirst();
    }

    /** The engines in {@code records}, which are sorted by key: one an incarnation. */
    public static List<EngineRecord> all(List<MetadataRecord> records) {
        List<EngineRecord> engines = new ArrayList<>();
        for (int from = 0; from < records.size(); ) {
            int to = from + 1;
            while (to < records.size()
                    && records.get(to).key().equals(records.get(from).key())) {
                to++;
            }
            newest(records.subList(from, to)).ifPresent(engines::add);
            from = to;
        }
        return List.copyOf(engines);
    }

    /** Tells {@code listener} in terms of engines what happens to records. Used by the event thread alone. */
    public static MetadataListener listener(EngineListener listener) {
        return new Adapter(listener);
    }

    private static final class Adapter implements MetadataListener {
        private final EngineListener listener;
        /** Records by key and owner; several owners may name one engine. */
        private final Map<String, TreeMap<UUID, MetadataRecord>> known = new HashMap<>();

        Adapter(EngineListener listener) {
            this.listener = listener;
        }

        @Override
        public void added(MetadataRecord record) {
            change(record.key(), () -> owners(record.key()).put(record.owner(), record));
        }

        @Override
        public void replaced(MetadataRecord before, MetadataRecord now) {
            added(now);
        }

        @Override
        public void removed(MetadataRecord record) {
            change(record.key(), () -> owners(record.key()).remove(record.owner()));
        }

        @Override
        public void resynced(List<MetadataRecord> records) {
            listener.resynced(all(records));
        }

        private TreeMap<UUID, MetadataRecord> owners(String key) {
            return known.computeIfAbsent(key, unused -> new TreeMap<>());
        }

        private void change(String key, Runnable action) {
            Optional<EngineRecord> before = newest(List.copyOf(owners(key).values()));
            action.run();
            Optional<EngineRecord> now = newest(List.copyOf(owners(key).values()));
            if (owners(key).isEmpty()) {
                known.remove(key);
            }
            if (before.equals(now)) {
                return;
            }
            if (before.isEmpty()) {
                listener.added(now.orElseThrow());
            } else if (now.isEmpty()) {
                listener.removed(before.get());
            } else {
                listener.replaced(before.get(), now.get());
            }
        }
    }
}
