import { openEgress, parseEgressAllow } from '#egress';
import { digestOf } from '#signing';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { buildActionRequest } from '../../executor/request/domain/build-action-request.ts';
import { isObject } from '../../registry/document/domain/context.ts';
import { compileValidator } from '../support/check-params.ts';
import { adaptToMock } from '../corpus/prism/readable.ts';
import { objectionOf } from '../corpus/prism/judge.ts';
import { partOf, startPrismMock } from '../support/prism.ts';
import type { PublishedDocument } from '../support/prism.ts';
import { providerPathOf } from './agreement.ts';
import type { Check } from './check.ts';
import { findOfficialOperation } from './official.ts';

/**
 * An action whose example call was refused by Prism's mock of the provider, and the mock's message.
 */
export interface Objection {
  readonly action: string;
  readonly about: string;
}

/**
 * Makes the example call of every action on Prism's mocks of the provider's documents. It validates
 * the call as policy does, and builds the request as the executor does. It skips actions that are
 * in no document, because the comparison with the documents reports them.
 */
export async function playExampleCalls(
  template: CompiledTemplate,
  check: Check,
  documents: readonly PublishedDocument[],
): Promise<Objection[]> {
  const objections: Objection[] = [];
  for (const document of documents) {
    const actions = Object.values(template.actions).flatMap((action) => {
      // These actions are skipped. Where the document is wrong, Prism's mock of the document is
      // wrong too.
      const skippedEntries = [...check.exceptions, ...check.unplayed];
      if (skippedEntries.some((each) => each.action === action.key)) return [];
      const path = providerPathOf(action.path, check);
      const officialOperation = findOfficialOperation(documents, { method: action.method, path });
      return officialOperation?.document === document
        ? [{ action, theirs: officialOperation.path }]
        : [];
    });
    if (actions.length === 0) continue;
    const keptOperations = new Set(actions.map(({ theirs }) => theirs));
    // Prism needs no descriptions of responses for this test. In some documents, these refer to
    // most of the document.
    const documentForMock = adaptToMock(withoutCredentials(document, check.credentials));
    await using mock = await startPrismMock(
      partOf(documentForMock, (path) => keptOperations.has(path)),
    );
    await using egress = openEgress({ allow: parseEgressAllow(new URL(mock.url).host) });
    for (const { action } of actions) {
      const path = providerPathOf(action.path, check, { onTheWire: true });
      const request = validateAndBuild(action, {
        path,
        params: check.calls[action.key] ?? {},
        url: mock.url,
      });
      if ('refusal' in request) {
        objections.push({ action: action.key, about: request.refusal });
        continue;
      }
      const { method, url, headers, body } = request.built;
      const answer = await egress.request({
        method,
        url,
        headers,
        body: body ?? undefined,
      });
      const objection = objectionOf(answer);
      if (objection !== undefined) objections.push({ action: action.key, about: objection });
    }
  }
  return objections;
}

function validateAndBuild(
  action: CompiledAction,
  { path, params, url }: { path: string; params: Check['calls'][string]; url: string },
) {
  const [issue] = compileValidator(action.paramsSchema)(params);
  if (issue !== undefined) return { refusal: `refused by us: ${JSON.stringify(issue)}` };
  const builtRequest = buildActionRequest({
    action: { ...action, path },
    params,
    baseUrl: url,
    callDigest: digestOf({ action: action.key, params }),
  });
  return { built: builtRequest };
}

/**
 * Removes security requirements and credential parameters, because the calls have no credentials.
 */
function withoutCredentials(
  document: PublishedDocument,
  credentials: readonly string[],
): PublishedDocument {
  const isCredential = (given: unknown) => {
    const name = isObject(given)
      ? (given['name'] ?? findReferencedName(document, given))
      : undefined;
    return typeof name === 'string' && credentials.includes(name);
  };
  const text = JSON.stringify(document, (key, value: unknown) => {
    if (!Array.isArray(value)) return value;
    if (key === 'parameters') return value.filter((given) => !isCredential(given));
    return key === 'security' ? undefined : value;
  });
  return JSON.parse(text) as PublishedDocument;
}

function findReferencedName(
  document: PublishedDocument,
  { $ref }: Record<string, unknown>,
): unknown {
  const name = typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? '') : '';
  const parameter = document.components?.['parameters']?.[name];
  return isObject(parameter) ? parameter['name'] : undefined;
}
