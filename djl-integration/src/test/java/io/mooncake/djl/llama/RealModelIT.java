// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.base.Deadline;
import io.mooncake.djl.ChatEngine;
import io.mooncake.djl.Conversation;
import io.mooncake.djl.Generation;
import io.mooncake.djl.GenerationRequest;
import io.mooncake.djl.ModelExtension;
import io.mooncake.memory.LocalKvPool;
import io.mooncake.memory.MemoryRegion;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real chat model, named by the environment variable MOONCAKE_MODEL. */
final class RealModelIT {
    @Test
    void generate_longSharedPrefix_hasTheSameBitsAndIsFaster(@TempDir Path folder) {
        String path = System.getenv("MOONCAKE_MODEL");
        assumeTrue(path != null && !path.isEmpty(), "MOONCAKE_MODEL: unset (expected: a GGUF file of a chat model)");
        System.setProperty("mooncake.cache", folder.toString());
        ModelExtension extension =
                new ModelExtension().setName("real").setUri(path).setThreads(1);
        extension.load(System.out::println);
        long bytes = LocalKvPool.blockStrideBytes(extension.identity()) * 40;
        try (MemoryRegion region = MemoryRegion.allocate(bytes);
                LocalKvPool pool = LocalKvPool.create(
                        "real", extension.identity(), extension.model().config().vocabulary(), region, 0, bytes)) {
            ChatEngine engine = extension.engine();
            Conversation conversation = new Conversation(extension.tokenizer(), extension.chatTemplate())
                    .system("You are a helpful librarian. " + "Books are lent for two weeks. ".repeat(150));
            for (String question : new String[] {"May I keep a book for a month?", "Why?"}) {
                Conversation.Turn turn = conversation.ask(question);
                GenerationRequest request = turn.request()
                        .maxNewTokens(16)
                        .stopAt(Set.of(extension.tokenizer().eosId()));
                Generation computed = engine.generate(request.withoutCache(), pool, Deadline.ofMillis(120_000));
                Generation first = engine.generate(request, pool, Deadline.ofMillis(120_000));
                Generation reused = engine.generate(request, pool, Deadline.ofMillis(120_000));
                System.out.printf(
                        "%d prompt tokens, %d reused: first token %.0f ms computed, %.0f ms reused (look-up %.1f ms);"
                                + " prefill %.0f tokens/s, decode %.1f tokens/s%n",
                        reused.promptTokens(),
                        reused.reusedTokens(),
                        computed.firstTokenNanos() / 1e6,
                        reused.firstTokenNanos() / 1e6,
                        reused.lookupNanos() / 1e6,
                        computed.prefillTokensPerSecond(),
                        computed.decodeTokensPerSecond());
                assertThat(reused.logitsDigest()).isEqualTo(computed.logitsDigest());
                assertThat(first.logitsDigest()).isEqualTo(computed.logitsDigest());
                assertThat(reused.tokens()).containsExactly(computed.tokens());
                assertThat(reused.reusedTokens()).isEqualTo((reused.promptTokens() - 1) / 64 * 64);
                System.out.println(conversation.answered(turn, reused.tokens()));
            }
        } finally {
            extension.stop();
            System.clearProperty("mooncake.cache");
        }
    }
}
