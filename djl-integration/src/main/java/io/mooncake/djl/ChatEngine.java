// SPDX-License-Identifier: Apache-2.0
package io.mooncake.djl;

import io.mooncake.base.Deadline;
import io.mooncake.base.MooncakeException;
import io.mooncake.base.MooncakeException.Code;
import io.mooncake.djl.llama.LlamaModel;
import io.mooncake.djl.llama.LlamaState;
import io.mooncake.memory.BlockLayout;
import io.mooncake.memory.BlockWriter;
import io.mooncake.memory.KvIdentity;
import io.mooncake.memory.KvPool;
import io.mooncake.memory.MissReason;
import io.mooncake.memory.PrefixLease;
import io.mooncake.memory.ReuseMode;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Continues prompts with one model: takes the longest cached prefix, computes the rest, stores new blocks, decodes.
 *
 * <p>One generation at a time; others wait for their turn in order, each until its deadline. With and without reuse the same code runs over
 * the same shapes, so that in exact mode all bits agree.
 *
 * <p>Ownership: owed a close; model and pool belong to others. It keeps one state, as large as the longest sequence so far: touching fresh
 * memory for each request would cost more than the copy of a long prefix. Threading: safe for all threads; {@code close} waits for the
 * generation that is under way.
 */
public final class ChatEngine implements AutoCloseable {
    private final LlamaModel model;
    private final @Nullable KvIdentity identity;
    private final ReentrantLock turn = new ReentrantLock(true);
    private @Nullable LlamaState state;
    private volatile boolean closed;

    /** For pools that the caller knows to be this model's: of a pool's identity only the shape is checked. */
    public ChatEngine(LlamaModel model) {
        this(model, null);
    }

    /** @param identity what a pool must hold; blocks of another model of the same shape would be taken for its own */
    public ChatEngine(LlamaModel model, @Nullable KvIdentity identity) {
        this.model = model;
        this.identity = identity;
    }

    /** The model. */
    public LlamaModel model() {
        return model;
    }

    /**
     * Continues {@code request}'s prompt.
     *
     * @param pool where cached prefixes come from and new blocks go; of this model's identity
     * @param deadline for the whole; where it passes while decoding, the tokens so far are the answer
     * @throws MooncakeException DEADLINE_EXCEEDED when it passes before the first token; INVALID_ARGUMENT when the prompt does not fit the
     *     context or the pool is of another shape; ILLEGAL_STATE after close
     */
    public Generation generate(GenerationRequest request, KvPool pool, Deadline deadline) {
        long start = System.nanoTime();
        // A copy: blocks are named by these ids, and a caller that changed its array while they are computed would
        // store
        // them under a wrong name.
        int[] prompt = request.prompt().clone();
        requireFit(prompt, pool);
        takeTurn(deadline);
        try {
            requireOpen();
            long begun = System.nanoTime();
            try (PrefixLease lease = request.lookup()
                    ? pool.acquire(prompt, deadline.atMost(request.lookupTimeout()), request.hints())
                    : pool.withoutLookup()) {
                return new Run(request, prompt, pool, lease, deadline, start, begun).generate();
            }
        } finally {
            turn.unlock();
        }
    }

    private void requireFit(int[] prompt, KvPool pool) {
        int context = model.config().contextTokens();
        if (prompt.length >= context) {
            throw MooncakeException.invalid("prompt", prompt.length + " tokens", "1.." + (context - 1));
        }
        if (identity != null && !identity.equals(pool.identity())) {
            throw MooncakeException.invalid("pool " + pool.name(), pool.identity(), "a pool of " + identity);
        }
        BlockLayout layout = pool.layout();
        if (layout.layers() != model.config().layers()
                || layout.kvHeads() != model.config().kvHeads()
                || layout.headSize() != model.config().headSize()
                || layout.elementBytes() != Float.BYTES) {
            throw MooncakeException.invalid("pool " + pool.name(), layout, "F32 blocks of " + model.config());
        }
        if (pool.identity().mode() == ReuseMode.EXACT && layout.blockTokens() != model.chunkTokens()) {
            throw MooncakeException.invalid(
                    "pool " + pool.name() + " blockTokens",
                    layout.blockTokens(),
                    model.chunkTokens() + ", the model's chunk in exact mode");
        }
    }

    private void takeTurn(Deadline deadline) {
        try {
            if (!turn.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
                throw new MooncakeException(
                        Code.DEADLINE_EXCEEDED,
                        "generation: " + turn.getQueueLength() + " requests wait before this one");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MooncakeException(Code.ILLEGAL_STATE, "generation: interrupted while waiting for its turn", e);
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new MooncakeException(Code.ILLEGAL_STATE, "chat engine: closed (expected: open)");
        }
    }

    /** Makes room for sequences of {@code tokens} now rather than in the first request that is so long. */
    public void reserve(int tokens) {
        turn.lock();
        try {
            requireOpen();
            stateFor(Math.min(tokens, model.config().contextTokens()));
        } finally {
            turn.unlock();
        }
    }

    /** The kept state, empty, with room for {@code tokens}. */
    private LlamaState stateFor(int tokens) {
        LlamaState current = state;
        if (current == null || current.capacity() < tokens) {
            int chunk = model.chunkTokens();
            int grown = current == null
                    ? tokens
                    : Math.max(tokens, Math.min(model.config().contextTokens(), 2 * current.capacity()));
            if (current != null) {
                state = null;
                current.close();
            }
            current = model.newState((grown + chunk - 1) / chunk * chunk);
            state = current;
        }
        current.moveTo(0);
        return current;
    }

    /** Frees the kept state. Idempotent; waits for the generation that is under way. */
    @Override
    public void close() {
        closed = true;
        turn.lock();
        try {
            if (state != null) {
                state.close();
                state = null;
            }
        } finally {
            turn.unlock();
        }
    }

    /** One generation, by the thread that has the turn. */
    private final class Run {
        private final GenerationRequest request;
        private final int[] prompt;
        private final KvPool pool;
        private final PrefixLease lease;
        private final Deadline deadline;
        private final long start;
        private final long begun;
        private final int[] tokens;
        private final float[] gaps;
        private final SplittableRandom random;
        private final LogitsDigest logitsSeen = new LogitsDigest();
        private final int localTokens;
        private final int remoteTokens;
        private final MissReason missReason;
        private int count;

        Run(
                GenerationRequest request,
                int[] prompt,
                KvPool pool,
                PrefixLease lease,
                Deadline deadline,
                long start,
                long begun) {
            this.request = request;
            this.prompt = prompt;
            this.pool = pool;
            this.lease = lease;
            this.deadline = deadline;
            this.start = start;
            this.begun = begun;
            int room = model.config().contextTokens() - prompt.length;
            this.tokens = new int[Math.min(request.maxNewTokens(), room)];
            this.gaps = new float[tokens.length];
            this.random = new SplittableRandom(request.sampling().seed());
            this.localTokens = lease.localTokens();
            this.remoteTokens = lease.remoteTokens();
            boolean all = lease.matchedTokens() >= pool.reusableTokens(prompt.length);
            this.missReason =
                    request.retokenised() && request.lookup() && !all ? MissReason.RETOKENISED : lease.missReason();
        }

        Generation generate() {
            LlamaState sequence = stateFor(prompt.length + tokens.length);
            inject(sequence);
            long injected = System.nanoTime();
            float[] logits = prefill(sequence);
            choose(logits);
            long first = System.nanoTime();
            request.onToken().accept(tokens[0]);
            logitsSeen.add(logits);
            float[] kept = request.keepLogits() ? logits : new float[0];

            boolean exact = pool.identity().mode() == ReuseMode.EXACT;
            int stored = 0;
            if (exact) {
                stored = request.store() ? store(sequence, prompt) : 0;
                // Its blocks were copied and its followers stored: nothing here keeps them from eviction any longer.
                lease.close();
            }
            long decodeStart = System.nanoTime();
            Generation.Finish finish = decode(sequence);
            lease.answered(count);
            long decoded = System.nanoTime();
            if (request.store() && !exact) {
                // The last token has no keys and values yet.
                stored = store(sequence, Arrays.copyOf(sequenceTokens(), sequence.position()));
            }
            return new Generation(
                    Arrays.copyOf(tokens, count),
                    finish,
                    prompt.length,
                    localTokens,
                    remoteTokens,
                    missReason,
                    stored,
                    first - start,
                    begun - start,
                    injected - begun,
                    first - injected,
                    decoded - decodeStart,
                    logitsSeen.digest(),
                    kept,
                    Arrays.copyOf(gaps, count));
        }

        private void inject(LlamaState sequence) {
            BlockLayout layout = pool.layout();
            for (int block = 0; block < lease.blockCount(); block++) {
                sequence.readBlock(lease.block(block), layout, block * layout.blockTokens(), lease.blockTokens(block));
            }
            sequence.moveTo(lease.matchedTokens());
        }

        /** Chunk by chunk, so that a passed deadline is noticed within one. */
        private float[] prefill(LlamaState sequence) {
            int chunk = model.chunkTokens();
            int lastChunk = (prompt.length - 1) / chunk * chunk;
            while (sequence.position() < lastChunk) {
                requireTime();
                model.feed(sequence, prompt, (sequence.position() / chunk + 1) * chunk);
            }
            requireTime();
            return model.predict(sequence, prompt, prompt.length);
        }

        private void requireTime() {
            if (deadline.expired()) {
                throw new MooncakeException(
                        Code.DEADLINE_EXCEEDED, "generation: the deadline passed before the first token");
            }
            requireOpen();
        }

        private Generation.Finish decode(LlamaState sequence) {
            while (true) {
                if (request.stopTokens().contains(tokens[count - 1])) {
                    return Generation.Finish.STOP;
                }
                if (count == tokens.length) {
                    return Generation.Finish.LENGTH;
                }
                if (deadline.expired() || closed) {
                    return Generation.Finish.DEADLINE;
                }
                float[] logits = model.step(sequence, tokens[count - 1]);
                choose(logits);
                logitsSeen.add(logits);
                request.onToken().accept(tokens[count - 1]);
            }
        }

        private void choose(float[] logits) {
            tokens[count] = request.sampling().choose(logits, random);
            gaps[count] = Sampling.gap(logits);
            count++;
        }

        private int[] sequenceTokens() {
            int[] all = Arrays.copyOf(prompt, prompt.length + count);
            System.arraycopy(tokens, 0, all, prompt.length, count);
            return all;
        }

        private int store(LlamaState sequence, int[] known) {
            BlockLayout layout = pool.layout();
            if (known.length / layout.blockTokens() * layout.blockTokens() <= lease.matchedTokens()) {
                return 0;
            }
            try (BlockWriter writer = pool.extend(lease, known)) {
                while (writer.hasNext()) {
                    int first = writer.blockIndex() * layout.blockTokens();
                    sequence.writeBlock(writer.next(), layout, first, layout.blockTokens());
                }
                return writer.publish();
            }
        }
    }
}
