import { openEgress, parseEgressAllow } from '#egress';
import type { Egress, EgressResponse } from '#egress';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { CompiledAction } from '#contracts/template';
import { buildActionRequest } from '../../../executor/request/domain/build-action-request.ts';
import type { BuiltRequest } from '../../../executor/request/domain/built-request.ts';
import { findUnfaithfulValues } from '../../../policy/calls/domain/plain-json.ts';
import { compileValidator } from '../../support/check-params.ts';
import type { ParamsValidator } from '../../support/check-params.ts';
import { partOf, startPrismMock } from '../../support/prism.ts';
import { generateWellFormed } from './arguments.ts';
import type { Params } from './arguments.ts';
import { readDocument } from './documents.ts';
import type { TestedDocument } from './documents.ts';
import { generateMalformed } from './mutate.ts';
import { createRandom, seedOf } from './random.ts';
import { adaptToMock } from './readable.ts';
import { compileOperations } from './template.ts';
import type { Operation } from './operations.ts';

export interface Sampling {
  /** Selects the operations to test. */
  readonly operations: (all: readonly Operation[]) => readonly Operation[];
  readonly callsPerOperation: number;
  readonly seed: number;
}

export interface Verdict {
  readonly name: string;
  readonly operations: number;
  /** Operations that the product's compiler refuses, with the compiler's reasons. */
  readonly refused: readonly string[];
  /** Operations for which no arguments could be generated. */
  readonly withoutArguments: readonly string[];
  readonly calls: number;
  readonly accepted: number;
  /** Well-formed calls that the product or the mock refused. */
  readonly rejected: readonly string[];
  readonly malformed: number;
  /** Malformed calls that the product accepted. */
  readonly acceptedMalformed: readonly string[];
  /** The number of malformed calls that reached the mock. */
  readonly hitsOfMalformed: number;
}

interface TestedAction {
  readonly action: CompiledAction;
  readonly validate: ParamsValidator;
}

/**
 * Calls every selected operation with generated arguments. The product's compiler, validator and
 * request builder make the request. Prism's mock of the same document answers it. The mock must
 * accept the well-formed calls, and must never receive a malformed call.
 */
export async function testDocument(name: string, sampling: Sampling): Promise<Verdict> {
  const testedDocument = await readDocument(name);
  const { actions, operations, refused } = await compileOperations(
    testedDocument.document,
    sampling.operations,
  );
  const keptPaths = new Set(operations.map(({ path }) => path));
  const documentPart = partOf(testedDocument.document, (path) => keptPaths.has(path));
  await using mock = await startPrismMock(adaptToMock(documentPart));
  await using egress = openEgress({ allow: parseEgressAllow(new URL(mock.url).host) });
  const sendRequest = (request: BuiltRequest) =>
    sendToMock(egress, request, testedDocument.credentials);

  const rejected: string[] = [];
  const acceptedMalformed: string[] = [];
  const withoutArguments: string[] = [];
  const counts = { calls: 0, accepted: 0, malformed: 0 };
  const malformedCalls: [judged: TestedAction, params: Params, label: string][] = [];
  for (const action of actions) {
    const seed = seedOf(`${sampling.seed} ${action.key}`);
    const random = createRandom(seed);
    const validatedAction = { action, validate: compileValidator(action.paramsSchema) };
    const argumentSets = generateWellFormed(action, { count: sampling.callsPerOperation, seed });
    if (argumentSets.length === 0) withoutArguments.push(action.key);
    for (const params of argumentSets) {
      counts.calls += 1;
      const request = validateAndBuild(validatedAction, params, mock.url);
      const problem = 'refusal' in request ? request.refusal : await sendRequest(request.built);
      if (problem === undefined) counts.accepted += 1;
      else rejected.push(`${action.key} ${JSON.stringify(params).slice(0, 300)}: ${problem}`);
      for (const mistake of generateMalformed(action, params, random)) {
        malformedCalls.push([validatedAction, mistake.params, `${action.key}, ${mistake.what}`]);
      }
    }
  }

  const hitsBefore = mock.hits.length;
  for (const [validatedAction, params, label] of malformedCalls) {
    counts.malformed += 1;
    const request = validateAndBuild(validatedAction, params, mock.url);
    if ('refusal' in request) continue;
    acceptedMalformed.push(`${label}: ${JSON.stringify(params).slice(0, 300)}`);
    await sendRequest(request.built);
  }
  const hitsOfMalformed = mock.hits.length - hitsBefore;
  const partialVerdict = { name, operations: actions.length, refused, withoutArguments };
  return { ...partialVerdict, ...counts, rejected, acceptedMalformed, hitsOfMalformed };
}

/** Validates the arguments as policy does, and builds the request as the executor does. */
function validateAndBuild(
  { action, validate }: TestedAction,
  params: Params,
  baseUrl: string,
): { built: BuiltRequest } | { refusal: string } {
  const issues = [...findUnfaithfulValues(params, ''), ...validate(params)];
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

/**
 * Sends the request to the mock. Returns the mock's objection, or undefined if the mock accepts the
 * request.
 */
async function sendToMock(
  egress: Egress,
  { method, url, headers, body }: BuiltRequest,
  credentials: TestedDocument['credentials'],
): Promise<string | undefined> {
  const answer = await egress.request({
    method,
    url,
    headers: [...headers, ...credentials],
    body: body ?? undefined,
  });
  return objectionOf(answer);
}

/**
 * The mock's objection to a request. The mock either answers with an error of its own, or with the
 * document's answer and a header that lists violations.
 */
export function objectionOf({ status, headers, body }: EgressResponse): string | undefined {
  const violationsHeader = headers.find(
    ([header]) => header.toLowerCase() === 'sl-violations',
  )?.[1];
  const text = new TextDecoder().decode(body);
  // This error means that the mock cannot produce an answer in the document's media type. It is not
  // about the request.
  if (text.includes('"title":"Cannot find serializer')) return undefined;
  const isError = text.includes('"https://stoplight.io/prism/errors#');
  const isWarning =
    violationsHeader !== undefined && !violationsHeader.includes('"severity":"Error"');
  if ((violationsHeader === undefined || isWarning) && !isError && status < 500) return undefined;
  return `${status} ${violationsHeader ?? ''} ${text}`.slice(0, 800);
}
