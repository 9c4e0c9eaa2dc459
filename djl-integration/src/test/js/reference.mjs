// SPDX-License-Identifier: Apache-2.0
// Asks llama.cpp, through node-llama-cpp, what our tokenizer and decoder are compared with.
//
//   node reference.mjs FOLDER REQUEST ANSWER
//
// FOLDER holds node_modules. REQUEST is a JSON file:
//   model       the GGUF file
//   texts       strings to tokenise, with markers taken as plain text ("plain") and as markers ("special")
//   chats       lists of {role, content}: rendered by the model's template with a generation prompt, then tokenised
//   templates   {template, variables}: rendered by @huggingface/jinja
//   perplexity  lists of token ids: the mean negative log-likelihood, in nats, of all ids but the first, from raw logits
//   logits      lists of token ids: all raw logits after the last id
// ANSWER gets a JSON file with the same keys, in the same order.
import {createRequire} from "node:module";
import {readFileSync, writeFileSync} from "node:fs";
import {pathToFileURL} from "node:url";
import path from "node:path";

const [folder, requestFile, answerFile] = process.argv.slice(2);
const require = createRequire(pathToFileURL(path.join(path.resolve(folder), "package.json")));
const load = async (name) => import(pathToFileURL(resolveModule(name)));
const request = JSON.parse(readFileSync(requestFile, "utf8"));

// require.resolve refuses packages that are for `import` only, so the entry is read from package.json.
function resolveModule(name) {
    const home = path.join(path.resolve(folder), "node_modules", name);
    const entry = require(path.join(home, "package.json"));
    const exported = entry.exports?.["."] ?? entry.exports;
    const pick = (node) => typeof node === "string" ? node : pick(node.node ?? node.import ?? node.default);
    return path.join(home, exported ? pick(exported) : entry.module ?? entry.main);
}

const {getLlama, LlamaLogLevel} = await load("node-llama-cpp");
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: 1});
const needsContext = (request.perplexity ?? []).length + (request.logits ?? []).length > 0;
const model = await llama.loadModel({modelPath: request.model, vocabOnly: !needsContext});
const answer = {};

if (request.texts)
    answer.texts = request.texts.map((text) => ({
        plain: model.tokenize(text, false),
        special: model.tokenize(text, true)
    }));

if (request.chats) {
    const {Template} = await load("@huggingface/jinja");
    const metadata = model.fileInfo.metadata.tokenizer;
    const template = new Template(metadata.chat_template);
    answer.chats = request.chats.map((messages) => {
        const text = template.render({
            messages,
            add_generation_prompt: true,
            bos_token: model.tokens.bosString ?? "",
            eos_token: model.tokens.eosString ?? ""
        });
        return {text, ids: model.tokenize(text, true)};
    });
}

if (request.templates) {
    const {Template} = await load("@huggingface/jinja");
    answer.templates = request.templates.map(({template, variables}) => new Template(template).render(variables));
}

if (needsContext) {
    const longest = Math.max(...[...(request.perplexity ?? []), ...(request.logits ?? [])].map((ids) => ids.length));
    const context = await model.createContext({contextSize: longest + 8, threads: 1, flashAttention: false});
    const sequence = context.getSequence();
    if (request.perplexity) {
        answer.perplexity = [];
        for (const ids of request.perplexity)
            answer.perplexity.push(await negativeLogLikelihood(sequence, ids));
    }
    if (request.logits) {
        answer.logits = [];
        for (const ids of request.logits)
            answer.logits.push(await lastLogits(sequence, ids));
    }
}

async function negativeLogLikelihood(sequence, ids) {
    await sequence.clearHistory();
    // includeTop, as includeMax leaves the maximum out where it is not among the tokens (node-llama-cpp 3.22.1).
    const items = ids.map((id, i) => i + 1 === ids.length ? id : [id, {
        generateNext: {logits: {filter: {tokens: [ids[i + 1]], includeTop: 1}}, totalLogitWeight: true}
    }]);
    const results = await sequence.controlledEvaluate(items);
    let sum = 0;
    for (let i = 0; i + 1 < ids.length; i++) {
        const {logits, totalLogitWeight} = results[i].next;
        const max = Math.max(...logits.values());
        sum += max + Math.log(totalLogitWeight) - logits.get(ids[i + 1]);
    }
    return sum / (ids.length - 1);
}

async function lastLogits(sequence, ids) {
    await sequence.clearHistory();
    const items = ids.map((id, i) => i + 1 < ids.length ? id : [id, {generateNext: {logits: true}}]);
    const {logits} = (await sequence.controlledEvaluate(items))[ids.length - 1].next;
    const out = new Array(logits.size);
    for (const [id, logit] of logits)
        out[id] = logit;
    return out;
}

writeFileSync(answerFile, JSON.stringify(answer));
process.exit(0);
