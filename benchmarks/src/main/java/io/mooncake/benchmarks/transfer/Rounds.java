// SPDX-License-Identifier: Apache-2.0
package io.mooncake.benchmarks.transfer;

import io.mooncake.examples.cli.Refusal;
import io.mooncake.examples.cli.Terminal;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Measures lines: all contenders of a line in turns, each round beginning with another one. */
final class Rounds {
    private final Field field;
    private final TransferSettings settings;
    private final Terminal terminal;

    Rounds(Field field, TransferSettings settings, Terminal terminal) {
        this.field = field;
        this.settings = settings;
        this.terminal = terminal;
    }

    /** Lets the engine's clients run the smallest line of each operation for a while, and a large one. */
    void warmUp(List<Cell> cells, long millis) {
        for (Contender contender : field.contenders()) {
            if (contender.role() != Contender.Role.OURS) {
                continue;
            }
            for (Cell cell : cells) {
                String word = contender.word().apply(cell);
                if (word != null) {
                    contender.measure(cell, word, settings.memoryBytes(), Math.max(20, millis / cells.size()));
                }
            }
        }
    }

    TransferRow measure(Cell cell) {
        Map<Contender, List<Measurement>> measured = new LinkedHashMap<>();
        for (int round = -1; round < settings.rounds(); round++) {
            List<Contender> turns = new ArrayList<>(field.contenders());
            java.util.Collections.rotate(turns, round);
            for (Contender contender : turns) {
                String word = contender.word().apply(cell);
                if (word == null) {
                    continue;
                }
                long millis = round < 0 ? settings.warmUpMillis() : settings.millis();
                try {
                    Measurement one = contender.measure(cell, word, settings.memoryBytes(), millis);
                    if (round >= 0) {
                        measured.computeIfAbsent(contender, first -> new ArrayList<>())
                                .add(one);
                    }
                } catch (Refusal e) {
                    if (contender.role() == Contender.Role.OURS) {
                        throw e;
                    }
                    terminal.line("WITHOUT " + contender.name() + " from here on: " + e.getMessage());
                    field.drop(contender);
                    measured.remove(contender);
                }
            }
        }
        return row(cell, measured);
    }

    private TransferRow row(Cell cell, Map<Contender, List<Measurement>> measured) {
        List<Measurement> ours = measured.entrySet().stream()
                .filter(entry -> entry.getKey().role() == Contender.Role.OURS)
                .findFirst()
                .orElseThrow(() -> new Refusal(cell.name() + ": nobody measures it"))
                .getValue();
        Figures own = Figures.of("engine", cell, ours);
        List<Figures> ceilings = new ArrayList<>();
        measured.forEach((contender, rounds) -> {
            if (contender.role() == Contender.Role.CEILING || contender.role() == Contender.Role.NOTE) {
                ceilings.add(Figures.of(contender.name(), cell, rounds));
            }
        });
        Optional<Contender> best = measured.keySet().stream()
                .filter(contender -> contender.role() == Contender.Role.CEILING)
                .max(Comparator.comparingDouble(
                        contender -> Figures.of(contender.name(), cell, rounds(measured, contender))
                                .gigabytesPerSecond()));
        Optional<Contender> peer = measured.keySet().stream()
                .filter(contender -> contender.role() == Contender.Role.PEER)
                .findFirst();
        List<BenchmarkResult> targets = new ArrayList<>(TransferTargets.ofOurs(cell, ours));
        Double ceilingRatio = best.map(contender -> ratio(cell, ours, rounds(measured, contender)))
                .orElse(null);
        Target ofCeiling = TransferTargets.ofCeiling(cell);
        if (best.isPresent() && ceilingRatio != null && ofCeiling != null) {
            Figures figures = Figures.of(best.get().name(), cell, rounds(measured, best.get()));
            targets.add(TransferTargets.ratio(cell, own, figures, ceilingRatio, settings.rounds(), ofCeiling));
        }
        Figures peerFigures = peer.map(contender -> Figures.of(contender.name(), cell, rounds(measured, contender)))
                .orElse(null);
        Double peerRatio = peer.map(contender -> ratio(cell, ours, rounds(measured, contender)))
                .orElse(null);
        Target ofPeer = TransferTargets.ofPeer(cell);
        if (peerFigures != null && peerRatio != null && ofPeer != null) {
            targets.add(TransferTargets.ratio(cell, own, peerFigures, peerRatio, settings.rounds(), ofPeer));
        }
        return new TransferRow(
                cell.transport(),
                cell.operation().text(),
                cell.size(),
                cell.batch(),
                cell.touchedBytes(settings.memoryBytes()),
                own,
                best.map(Contender::name).orElse(null),
                ceilingRatio,
                ceilings,
                peerFigures,
                peerRatio,
                targets,
                "");
    }

    private static List<Measurement> rounds(Map<Contender, List<Measurement>> measured, Contender contender) {
        return measured.getOrDefault(contender, List.of());
    }

    private static double ratio(Cell cell, List<Measurement> ours, List<Measurement> others) {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < Math.min(ours.size(), others.size()); i++) {
            ratios.add(ours.get(i).gigabytesPerSecond(cell) / others.get(i).gigabytesPerSecond(cell));
        }
        return Samples.of(ratios).median();
    }
}
