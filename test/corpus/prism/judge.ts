import { openEgress, parseEgressAllow } from '#egress';
import type { Egress, EgressResponse } from '#egress';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { CompiledAction } from '#contracts/template';
import { buildActionRequest } from '../../../executor/domain/build-request.ts';
import type { BuiltRequest } from '../../../executor/domain/request.ts';
import { findUnfaithful } from '../../../policy/domain/plain-json.ts';
import { compileValidator } from '../../support/check-params.ts';
import type { ParamsValidator } from '../../support/check-params.ts';
import { partOf, startPrismMock } from '../../support/prism.ts';
import { wellFormed } from './arguments.ts';
import type { Params } from './arguments.ts';
import { readDocument } from './documents.ts';
import type { JudgedDocument } from './documents.ts';
import { malformed } from './mutate.ts';
import { randomOf, seedOf } from './random.ts';
import { readable } from './readable.ts';
import { compileOperations } from './template.ts';
import type { Operation } from './operations.ts';

export interface Sampling {
  /** Operations of the document that are judged. */
  readonly operations: (all: readonly Operation[]) => readonly Operation[];
  readonly callsPerOperation: number;
  readonly seed: number;
}

export interface Verdict {
  readonly name: string;
  readonly operations: number;
  /** Operations that the compiler does not take, with its reasons. */
  readonly refused: readonly string[];
  /** Operations for which no arguments could be generated. */
  readonly withoutArguments: readonly string[];
  readonly calls: number;
  readonly accepted: number;
  /** Well-formed calls that we or the mock did not take. */
  readonly rejected: readonly string[];
  readonly malformed: number;
  /** Malformed calls that we let through. */
  readonly passed: readonly string[];
  /** What the mock saw of the malformed ones. */
  readonly hitsOfMalformed: number;
}

interface Judged {
  readonly action: CompiledAction;
  readonly validate: ParamsValidator;
}

/**
 * Calls every sampled operation with generated arguments through our compiler, validator and
 * request builder, on the mock of the very same document: what is well formed must be taken by it,
 * what is malformed must never get there.
 */
export async function judge(name: string, sampling: Sampling): Promise<Verdict> {
  const judged = await readDocument(name);
  const { actions, operations, refused } = await compileOperations(
    judged.document,
    sampling.operations,
  );
  const kept = new Set(operations.map(({ path }) => path));
  const part = partOf(judged.document, (path) => kept.has(path));
  await using mock = await startPrismMock(readable(part));
  await using egress = openEgress({ allow: parseEgressAllow(new URL(mock.url).host) });
  const send = (request: BuiltRequest) => ask(egress, request, judged.credential);

  const rejected: string[] = [];
  const passed: string[] = [];
  const withoutArguments: string[] = [];
  const counts = { calls: 0, accepted: 0, malformed: 0 };
  const wrong: [judged: Judged, params: Params, label: string][] = [];
  for (const action of actions) {
    const seed = seedOf(`${sampling.seed} ${action.key}`);
    const random = randomOf(seed);
    const one = { action, validate: compileValidator(action.paramsSchema) };
    const sets = wellFormed(action, { count: sampling.callsPerOperation, seed });
    if (sets.length === 0) withoutArguments.push(action.key);
    for (const params of sets) {
      counts.calls += 1;
      const request = attempt(one, params, mock.url);
      const problem = 'refusal' in request ? request.refusal : await send(request.built);
      if (problem === undefined) counts.accepted += 1;
      else rejected.push(`${action.key} ${JSON.stringify(params).slice(0, 300)}: ${problem}`);
      for (const mistake of malformed(action, params, random)) {
        wrong.push([one, mistake.params, `${action.key}, ${mistake.what}`]);
      }
    }
  }

  const hitsBefore = mock.hits.length;
  for (const [one, params, label] of wrong) {
    counts.malformed += 1;
    const request = attempt(one, params, mock.url);
    if ('refusal' in request) continue;
    passed.push(`${label}: ${JSON.stringify(params).slice(0, 300)}`);
    await send(request.built);
  }
  const hitsOfMalformed = mock.hits.length - hitsBefore;
  const done = { name, operations: actions.length, refused, withoutArguments };
  return { ...done, ...counts, rejected, passed, hitsOfMalformed };
}

/** As policy and executor do it, one after the other. */
function attempt(
  { action, validate }: Judged,
  params: Params,
  baseUrl: string,
): { built: BuiltRequest } | { refusal: string } {
  const issues = [...findUnfaithful(params, ''), ...validate(params)];
  if (issues.length > 0) return { refusal: `refused: ${JSON.stringify(issues[0])}` };
  try {
    const callDigest = digestOf({ action: action.key, params });
    return { built: buildActionRequest({ action, params, baseUrl, callDigest }) };
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_params')
      return { refusal: `refused: ${error.message}` };
    throw error;
  }
}

/** Undefined when the mock takes the request; otherwise what it says against it. */
async function ask(
  egress: Egress,
  { method, url, headers, body }: BuiltRequest,
  credential: JudgedDocument['credential'],
): Promise<string | undefined> {
  const answer = await egress.request({
    method,
    url,
    headers: credential === null ? headers : [...headers, credential],
    body: body ?? undefined,
  });
  return objectionOf(answer);
}

/** What the mock says against a request: an error of its own, or a note on an answer from the document. */
export function objectionOf({ status, headers, body }: EgressResponse): string | undefined {
  const note = headers.find(([header]) => header.toLowerCase() === 'sl-violations')?.[1];
  const text = new TextDecoder().decode(body);
  // Of an answer in a media type that the mock cannot write; the request was fine.
  if (text.includes('"title":"Cannot find serializer')) return undefined;
  const isError = text.includes('"https://stoplight.io/prism/errors#');
  const isWarning = note !== undefined && !note.includes('"severity":"Error"');
  if ((note === undefined || isWarning) && !isError && status < 500) return undefined;
  return `${status} ${note ?? ''} ${text}`.slice(0, 800);
}
