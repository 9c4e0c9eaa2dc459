// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.mooncake.examples.report.BenchmarkReport;
import io.mooncake.examples.report.BenchmarkResult;
import io.mooncake.examples.report.Samples;
import io.mooncake.examples.report.Target;
import io.mooncake.examples.sql.SqlConsole;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

final class DemoPageTest {
    private static final RestartRow FAILED = RestartRow.failed("node-3", false, "it <did> not start");
    private static final long SEED = Long.getLong("mooncake.seed", 7);

    @Test
    void render_fullOutcome_isWellFormedAndSelfContained() throws Exception {
        String page = DemoPage.render(outcome());
        Files.writeString(Path.of("target", "sample-report.html"), page);
        Document document = parse(page);
        assertThat(document.getElementsByTagName("svg").getLength()).isEqualTo(3);
        assertThat(document.getElementsByTagName("script").getLength()).isZero();
        assertThat(document.getElementsByTagName("link").getLength()).isZero();
        assertThat(document.getElementsByTagName("img").getLength()).isZero();
        assertThat(page).doesNotContain("url(").contains("prefers-color-scheme: dark");
    }

    @Test
    void render_hostileText_isEscaped() throws Exception {
        String page = DemoPage.render(outcome());
        assertThat(page)
                .contains("&lt;b&gt;cheap&lt;/b&gt; &amp; &quot;good&quot;")
                .doesNotContain("<b>cheap");
        parse(page);
    }

    @Test
    void render_nothingAnswered_isStillAPage() throws Exception {
        DemoOutcome full = outcome();
        DemoOutcome empty =
                new DemoOutcome("m", 1, 64, 1, 1, full.nodes(), List.of(), FAILED, List.of(), List.of(), full.report());
        String page = DemoPage.render(empty);
        assertThat(page).contains("it &lt;did&gt; not start");
        parse(page);
    }

    private static Document parse(String page) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        return factory.newDocumentBuilder().parse(new InputSource(new StringReader(page)));
    }

    private static DemoOutcome outcome() {
        Random random = new Random(SEED);
        List<RequestRow> rows = new ArrayList<>();
        for (Plan.Request request : Plan.of(36).requests()) {
            boolean moved = request.kind() == Plan.Kind.MOVED;
            boolean cold = request.kind() == Plan.Kind.COLD;
            int prompt = 1240 + 60 * request.turn() + random.nextInt(20);
            int reused = cold ? 0 : prompt / 64 * 64 - 64 * (request.turn() - 1);
            double without = 4_600 + random.nextInt(900);
            double with = cold ? without + random.nextInt(90) : 100 + (prompt - reused) * 3.5 + random.nextInt(40);
            boolean lost = request.index() == 30;
            rows.add(new RequestRow(
                    request.index(),
                    request.desk().name(),
                    request.conversation(),
                    request.turn(),
                    moved,
                    "node-" + (1 + random.nextInt(3)),
                    prompt,
                    moved ? 0 : reused,
                    0,
                    moved ? reused : 0,
                    "NONE",
                    with,
                    without,
                    24,
                    true,
                    true,
                    0,
                    request.question(),
                    "A <b>cheap</b> & \"good\" one.\u0001",
                    lost ? "the node died" : null,
                    lost));
        }
        List<NodeRow> nodes = List.of(
                new NodeRow("node-1", true, 14, 9_000, 4_000, 3_000, 400 << 20, 700 << 20, 66, 68, 130, 40),
                new NodeRow("node-2", true, 12, 8_000, 5_000, 2_500, 500 << 20, 300 << 20, 68, 68, 120, 50),
                new NodeRow("node-3", false, 10, 7_000, 4_500, 2_200, 450 << 20, 350 << 20, 67, 68, 110, 60));
        List<BenchmarkResult> results = List.of(
                BenchmarkResult.compared(
                        "TTFT, prefix in own memory",
                        Samples.of(190, 201, 222),
                        "ms",
                        "computed",
                        Samples.of(5_000, 5_100, 4_900),
                        Target.atMost(0.06)),
                BenchmarkResult.of("decode", Samples.of(12, 13, 14), "tokens/s", Target.atLeast(15)));
        SqlConsole.Answer sql = new SqlConsole.Answer(
                "SELECT prefix, tokens FROM MOONCAKE.PREFIXES",
                List.of("prefix", "tokens"),
                List.of(List.of("ab12", "1088"), List.of("cd34", "1152")),
                1_200);
        return new DemoOutcome(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                1,
                64,
                21.5,
                190,
                nodes,
                rows,
                new RestartRow("node-3", false, 1.2, 8, 110, 110, 0, 0, 18, 1_152, 4_300, rows.get(1), null),
                List.of(sql),
                List.of(new DemoOutcome.Check("logits bit-identical", true, "36 of 36")),
                BenchmarkReport.here("demo", Path.of("/"), results, Map.of()));
    }
}
