import { reservedNames } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject } from '../domain/context.ts';
import { checkHead, createAssembly, doesNotFit, scopeParam } from './assemble.ts';
import type { Assembly } from './assemble.ts';
import type { ImportRequest, Imported, ImportedOperation } from './imported.ts';
import { inferRisk, inferSummary } from './infer.ts';
import { createNotes } from './notes.ts';
import { workMax, convertOperation, findOperations, namesOf } from './operations.ts';
import type { FoundOperation } from './operations.ts';
import { Skip, placeOfParameter } from './parameters.ts';
import { readPath } from './paths.ts';
import { readText } from './read-text.ts';
import type { Work } from './schemas.ts';
import { convertRequirements, convertSchemes, slug } from './security.ts';
import type { Schemes } from './security.ts';
import { chooseServers } from './servers.ts';
import type { ServerChoice } from './servers.ts';
import { objectAt, shorten, textAt } from './source.ts';
import type { Source } from './source.ts';

export type OnProgress = (done: number, total: number) => void;

/** Any OpenAPI 3.0 or 3.1 document as a template document, with what was inferred. Pure: no I/O, no clock. */
export function convertDocument(request: ImportRequest, onProgress?: OnProgress): Imported {
  const reading = readText(request.text);
  if (!reading.ok) return reading;
  const { document } = reading;
  const notes = createNotes();
  const version = versionOf(document);
  if (version === undefined) {
    const given = 'swagger' in document ? 'Swagger 2.0' : 'This version';
    const code = 'openapi' in document || 'swagger' in document ? 'openapi_version' : 'not_openapi';
    const path = 'openapi' in document ? ['openapi'] : [];
    notes.error(
      code,
      path,
      `${given} cannot be imported. Convert the document to OpenAPI 3.0 or 3.1.`,
    );
    return { ok: false, findings: notes.list() };
  }
  const source: Source = { document, version, notes };
  const title = titleOf(document);
  const key = request.key ?? keyOf(title);
  if (!isKey(key)) {
    const message = `"${shorten(key, 80)}" cannot be the key of a template: a key starts with a letter, holds only lower-case letters, digits, "_" and "-", and is no reserved name.`;
    notes.error('key_invalid', [], message);
    return { ok: false, findings: notes.list() };
  }
  return convertChecked(source, { request, title, key, onProgress });
}

interface Conversion {
  readonly request: ImportRequest;
  readonly title: string;
  readonly key: string;
  readonly onProgress: OnProgress | undefined;
}

function convertChecked(source: Source, { request, title, key, onProgress }: Conversion): Imported {
  const { notes, document } = source;
  const found = findOperations(source);
  const isIncluded = found && selector(source, found, request.includeOperations ?? null);
  if (found === undefined || isIncluded === undefined) return { ok: false, findings: notes.list() };

  const schemes = convertSchemes(source, key);
  if (schemes.size === 0) {
    const message =
      'The document names no way of authenticating that can be used here. Add one if the API asks for credentials.';
    notes.warn('auth_unknown', ['components', 'securitySchemes'], message);
  }
  const servers = chooseServers(source, found.filter(isIncluded), request.sourceUrl ?? undefined);
  const head = {
    openapi: '3.1.0',
    info: infoOf(document, { title, key }),
    ...(servers.list.length > 0 && { servers: servers.list }),
    ...securityOf(source, { schemes, found: found.filter(isIncluded) }),
    ...(schemes.size > 0 && { components: { securitySchemes: Object.fromEntries(schemes) } }),
  };
  const problem = checkHead(head);
  if (problem) {
    notes.error(problem.code, [], problem.message);
    return { ok: false, findings: notes.list() };
  }
  const inclusion = { assembly: createAssembly(head), schemes, servers, work: { left: workMax } };
  const operations = found.map((operation, index) => {
    if (index % 100 === 0) onProgress?.(index, found.length);
    return isIncluded(operation)
      ? include(source, operation, inclusion)
      : describe(operation, false);
  });
  if ('webhooks' in document)
    notes.info('callbacks_ignored', ['webhooks'], 'Webhooks are left out.');
  return {
    ok: true,
    key,
    title,
    document: inclusion.assembly.document(),
    operations,
    findings: notes.list(),
  };
}

function versionOf(document: JsonObject): Source['version'] | undefined {
  const [, minor] =
    /^3\.([01])\.\d{1,3}(?:-[\w.]{1,30})?$/.exec(textAt(document, 'openapi') ?? '') ?? [];
  return minor === undefined ? undefined : minor === '0' ? '3.0' : '3.1';
}

function titleOf(document: JsonObject): string {
  const title = (textAt(objectAt(document, 'info'), 'title') ?? '').trim();
  return title === '' ? 'Imported API' : shorten(title, 200);
}

/** `GitHub v3 REST API` → `github`. */
function keyOf(title: string): string {
  const key = slug(title).replace(/(?:_(?:v?\d+|rest|http|web|public|open|api|apis))+$/, '');
  return (reservedNames as readonly string[]).includes(key) ? `${key}_api` : key;
}

function isKey(key: string): boolean {
  return /^[a-z][a-z0-9_-]{0,62}$/.test(key) && !(reservedNames as readonly string[]).includes(key);
}

function infoOf(document: JsonObject, { title, key }: { title: string; key: string }): JsonObject {
  const info = objectAt(document, 'info');
  const description = (textAt(info, 'description') ?? '').trim();
  const version = textAt(info, 'version') ?? '';
  return {
    title,
    'x-service-key': key,
    version: shorten(version === '' ? '1' : version, 100),
    ...(description !== '' && { description: shorten(description, 1000) }),
  };
}

/** What the document says, or the ways its operations say when it says nothing itself. */
function securityOf(
  source: Source,
  { schemes, found }: { schemes: Schemes; found: readonly FoundOperation[] },
): JsonObject {
  const { document } = source;
  const own = convertRequirements(
    source,
    { value: document['security'], path: ['security'] },
    schemes,
  );
  if (own !== undefined) return { security: own.map(withoutScopes) };
  if ('security' in document) return {};
  const ways = new Map<string, JsonObject>();
  for (const { operation } of found) {
    const at = { value: operation.value['security'], path: [...operation.path, 'security'] };
    for (const requirement of convertRequirements(source, at, schemes) ?? []) {
      const names = Object.keys(requirement).toSorted();
      if (names.length > 0 && ways.size < 20) ways.set(names.join(' '), withoutScopes(requirement));
    }
  }
  return ways.size === 0 ? {} : { security: [...ways.values()] };
}

/** Which scopes an action needs is said there. */
function withoutScopes(requirement: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(requirement).map((name) => [name, []]));
}

function selector(
  source: Source,
  found: readonly FoundOperation[],
  wanted: readonly string[] | null,
): ((operation: FoundOperation) => boolean) | undefined {
  if (wanted === null) return () => true;
  const names = new Set(wanted);
  const spellingsOf = ({ operationId, givenId, method, path }: FoundOperation) => [
    operationId,
    ...(givenId === undefined ? [] : [givenId]),
    `${method} ${path}`,
  ];
  const known = new Set(found.flatMap(spellingsOf));
  const unknown = [...names].filter((name) => !known.has(name));
  for (const name of unknown) {
    const message = `The document has no operation "${shorten(name, 200)}". Give an operation id, or "METHOD /path".`;
    source.notes.error('operation_unknown', ['paths', name.slice(0, 200)], message);
  }
  return unknown.length > 0
    ? undefined
    : (operation) => spellingsOf(operation).some((name) => names.has(name));
}

interface Inclusion {
  readonly assembly: Assembly;
  readonly schemes: Schemes;
  readonly servers: ServerChoice;
  readonly work: Work;
}

function include(
  source: Source,
  found: FoundOperation,
  { assembly, schemes, servers, work }: Inclusion,
): ImportedOperation {
  const { notes } = source;
  const skip = (code: NonNullable<ImportedOperation['skipped']>['code'], message: string) => {
    notes.warn(code, found.operation.path, `Not imported: ${message}`);
    return { ...describe(found, false), skipped: { code, message } };
  };
  if (found.method === 'TRACE') return skip('method_unsupported', 'TRACE requests are not sent.');
  if (!servers.isCommon(found)) {
    return skip('other_server', 'It has a server of its own. Import it as a template of its own.');
  }
  if (assembly.isFull) return skip(doesNotFit.code, doesNotFit.message);
  if (isObject(found.operation.value['callbacks'])) {
    notes.info(
      'callbacks_ignored',
      [...found.operation.path, 'callbacks'],
      'Callbacks are left out.',
    );
  }
  try {
    const operation = { ...found, method: found.method };
    const converted = convertOperation(source, operation, { schemes, work });
    const { value, skipped, dropped } = assembly.add(found.method, converted);
    for (const { name, finding } of dropped) {
      const message = `The parameter "${shorten(name, 100)}" is left out: ${finding.message}`;
      notes.info('parameter_dropped', placeOfParameter(source, found, name), message);
    }
    if (skipped) return skip(skipped.code, skipped.message);
    const summary = textAt(value, 'summary') ?? '';
    const inferred = converted.inferred.filter(
      (what) => what !== 'scope_param' || scopeParam in value,
    );
    return { ...describe(found, true), inferred, summary };
  } catch (thrown) {
    if (thrown instanceof Skip) return skip(thrown.code, thrown.message);
    throw thrown;
  }
}

function describe(found: FoundOperation, included: boolean): ImportedOperation {
  const { operationId, method, path } = found;
  return {
    operation_id: operationId,
    method,
    path,
    summary: inferSummary(found.operation.value, { operationId, parameters: [] }).summary,
    risk: inferRisk(method, namesOf(operationId, readPath(path))),
    included,
    inferred: found.givenId === operationId ? [] : ['operation_id'],
  };
}
