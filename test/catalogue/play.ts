import { openEgress, parseEgressAllow } from '#egress';
import { digestOf } from '#signing';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { buildActionRequest } from '../../executor/domain/build-request.ts';
import { isObject } from '../../registry/domain/context.ts';
import { compileValidator } from '../support/check-params.ts';
import { readable } from '../corpus/prism/readable.ts';
import { objectionOf } from '../corpus/prism/judge.ts';
import { partOf, startPrismMock } from '../support/prism.ts';
import type { PublishedDocument } from '../support/prism.ts';
import { theirPath } from './agreement.ts';
import type { Check } from './check.ts';
import { findOfficial } from './official.ts';

/** An action that the mock of the provider's document did not take, and what it said. */
export interface Objection {
  readonly action: string;
  readonly about: string;
}

/**
 * Calls every action once, as policy and executor would, on Prism's mock of each document of the
 * provider; actions that no document knows are left to the comparison, which names them.
 */
export async function play(
  template: CompiledTemplate,
  check: Check,
  documents: readonly PublishedDocument[],
): Promise<Objection[]> {
  const objections: Objection[] = [];
  for (const document of documents) {
    const actions = Object.values(template.actions).flatMap((action) => {
      // Where the document is wrong, so is its mock.
      const set = [...check.exceptions, ...check.unplayed];
      if (set.some((each) => each.action === action.key)) return [];
      const path = theirPath(action.path, check);
      const found = findOfficial(documents, { method: action.method, path });
      return found?.document === document ? [{ action, theirs: found.path }] : [];
    });
    if (actions.length === 0) continue;
    const kept = new Set(actions.map(({ theirs }) => theirs));
    // Without answers first: what those refer to is most of some documents.
    const asked = readable(withoutCredentials(document, check.credentials));
    await using mock = await startPrismMock(partOf(asked, (path) => kept.has(path)));
    await using egress = openEgress({ allow: parseEgressAllow(new URL(mock.url).host) });
    for (const { action } of actions) {
      const path = theirPath(action.path, check, { onTheWire: true });
      const request = requestOf(action, {
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

function requestOf(
  action: CompiledAction,
  { path, params, url }: { path: string; params: Check['calls'][string]; url: string },
) {
  const [issue] = compileValidator(action.paramsSchema)(params);
  if (issue !== undefined) return { refusal: `refused by us: ${JSON.stringify(issue)}` };
  const built = buildActionRequest({
    action: { ...action, path },
    params,
    baseUrl: url,
    callDigest: digestOf({ action: action.key, params }),
  });
  return { built };
}

/** Which credential goes where is not what the mock is asked. */
function withoutCredentials(
  document: PublishedDocument,
  credentials: readonly string[],
): PublishedDocument {
  const isCredential = (given: unknown) => {
    const name = isObject(given) ? (given['name'] ?? referenced(document, given)) : undefined;
    return typeof name === 'string' && credentials.includes(name);
  };
  const text = JSON.stringify(document, (key, value: unknown) => {
    if (!Array.isArray(value)) return value;
    if (key === 'parameters') return value.filter((given) => !isCredential(given));
    return key === 'security' ? undefined : value;
  });
  return JSON.parse(text) as PublishedDocument;
}

function referenced(document: PublishedDocument, { $ref }: Record<string, unknown>): unknown {
  const name = typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? '') : '';
  const parameter = document.components?.['parameters']?.[name];
  return isObject(parameter) ? parameter['name'] : undefined;
}
