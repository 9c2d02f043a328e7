import { reservedNames } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject } from '../../document/domain/context.ts';
import { checkHead, createAssembly, doesNotFitReason, scopeExtension } from './assemble.ts';
import type { Assembly } from './assemble.ts';
import type { ImportRequest, Imported, ImportedOperation } from './imported.ts';
import { inferRisk, inferSummary } from './infer.ts';
import { createNotes } from './notes.ts';
import {
  importWorkMax,
  convertOperation,
  findOperations,
  descriptiveTextsOf,
} from './operations.ts';
import type { FoundOperation } from './operations.ts';
import { SkipOperation, placeOfParameter } from './parameters.ts';
import { readPath } from './paths.ts';
import { readText } from './read-text.ts';
import type { WorkBudget } from './schemas.ts';
import { convertRequirements, convertSchemes, toSlug } from './security.ts';
import type { Schemes } from './security.ts';
import { chooseServers } from './servers.ts';
import type { ServerChoice } from './servers.ts';
import { objectAt, shortenText, textAt } from './source.ts';
import type { ImportSource } from './source.ts';

export type OnProgress = (done: number, total: number) => void;

/**
 * Converts any OpenAPI 3.0 or 3.1 document to a template document, and lists what the import
 * inferred. The function is pure: no I/O, no clock.
 */
export function convertDocument(request: ImportRequest, onProgress?: OnProgress): Imported {
  const readResult = readText(request.text);
  if (!readResult.ok) return readResult;
  const { document } = readResult;
  const notes = createNotes();
  const version = versionOf(document);
  if (version === undefined) {
    const versionText = 'swagger' in document ? 'Swagger 2.0' : 'This version';
    const code = 'openapi' in document || 'swagger' in document ? 'openapi_version' : 'not_openapi';
    const path = 'openapi' in document ? ['openapi'] : [];
    notes.error(
      code,
      path,
      `${versionText} cannot be imported. Convert the document to OpenAPI 3.0 or 3.1.`,
    );
    return { ok: false, findings: notes.list() };
  }
  const source: ImportSource = { document, version, notes };
  const title = readTitle(document);
  const key = request.key ?? toTemplateKey(title);
  if (!isTemplateKey(key)) {
    const message = `"${shortenText(key, 80)}" cannot be the key of a template: a key starts with a letter, holds only lower-case letters, digits, "_" and "-", and is no reserved name.`;
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

function convertChecked(
  source: ImportSource,
  { request, title, key, onProgress }: Conversion,
): Imported {
  const { notes, document } = source;
  const operationsOfDocument = findOperations(source);
  const isIncluded =
    operationsOfDocument &&
    createSelectionTest(source, operationsOfDocument, request.includeOperations ?? null);
  if (operationsOfDocument === undefined || isIncluded === undefined)
    return { ok: false, findings: notes.list() };

  const schemes = convertSchemes(source, key);
  if (schemes.size === 0) {
    const message =
      'The document names no way of authenticating that can be used here. Add one if the API asks for credentials.';
    notes.warn('auth_unknown', ['components', 'securitySchemes'], message);
  }
  const servers = chooseServers(
    source,
    operationsOfDocument.filter(isIncluded),
    request.sourceUrl ?? undefined,
  );
  const templateHead = {
    openapi: '3.1.0',
    info: buildInfo(document, { title, key }),
    ...(servers.list.length > 0 && { servers: servers.list }),
    ...buildSecurity(source, { schemes, found: operationsOfDocument.filter(isIncluded) }),
    ...(schemes.size > 0 && { components: { securitySchemes: Object.fromEntries(schemes) } }),
  };
  const problem = checkHead(templateHead);
  if (problem) {
    notes.error(problem.code, [], problem.message);
    return { ok: false, findings: notes.list() };
  }
  const inclusionContext = {
    assembly: createAssembly(templateHead),
    schemes,
    servers,
    work: { left: importWorkMax },
  };
  const operations = operationsOfDocument.map((operation, index) => {
    if (index % 100 === 0) onProgress?.(index, operationsOfDocument.length);
    return isIncluded(operation)
      ? convertIfSelected(source, operation, inclusionContext)
      : importedOperationOf(operation, false);
  });
  if ('webhooks' in document)
    notes.info('callbacks_ignored', ['webhooks'], 'Webhooks are left out.');
  return {
    ok: true,
    key,
    title,
    document: inclusionContext.assembly.document(),
    operations,
    findings: notes.list(),
  };
}

function versionOf(document: JsonObject): ImportSource['version'] | undefined {
  const [, minor] =
    /^3\.([01])\.\d{1,3}(?:-[\w.]{1,30})?$/.exec(textAt(document, 'openapi') ?? '') ?? [];
  return minor === undefined ? undefined : minor === '0' ? '3.0' : '3.1';
}

function readTitle(document: JsonObject): string {
  const title = (textAt(objectAt(document, 'info'), 'title') ?? '').trim();
  return title === '' ? 'Imported API' : shortenText(title, 200);
}

/** Makes a template key from the title of the document: `GitHub v3 REST API` gives `github`. */
function toTemplateKey(title: string): string {
  const key = toSlug(title).replace(/(?:_(?:v?\d+|rest|http|web|public|open|api|apis))+$/, '');
  return (reservedNames as readonly string[]).includes(key) ? `${key}_api` : key;
}

function isTemplateKey(key: string): boolean {
  return /^[a-z][a-z0-9_-]{0,62}$/.test(key) && !(reservedNames as readonly string[]).includes(key);
}

function buildInfo(
  document: JsonObject,
  { title, key }: { title: string; key: string },
): JsonObject {
  const info = objectAt(document, 'info');
  const description = (textAt(info, 'description') ?? '').trim();
  const version = textAt(info, 'version') ?? '';
  return {
    title,
    'x-service-key': key,
    version: shortenText(version === '' ? '1' : version, 100),
    ...(description !== '' && { description: shortenText(description, 1000) }),
  };
}

/**
 * The field `security` of the template. A document without it may state `security` in its
 * operations only; then the alternatives of the operations are collected.
 */
function buildSecurity(
  source: ImportSource,
  { schemes, found }: { schemes: Schemes; found: readonly FoundOperation[] },
): JsonObject {
  const { document } = source;
  const ownRequirements = convertRequirements(
    source,
    { value: document['security'], path: ['security'] },
    schemes,
  );
  if (ownRequirements !== undefined) return { security: ownRequirements.map(stripScopes) };
  if ('security' in document) return {};
  const alternatives = new Map<string, JsonObject>();
  for (const { operation } of found) {
    const securityNode = {
      value: operation.value['security'],
      path: [...operation.path, 'security'],
    };
    for (const requirement of convertRequirements(source, securityNode, schemes) ?? []) {
      const schemeNames = Object.keys(requirement).toSorted();
      if (schemeNames.length > 0 && alternatives.size < 20)
        alternatives.set(schemeNames.join(' '), stripScopes(requirement));
    }
  }
  return alternatives.size === 0 ? {} : { security: [...alternatives.values()] };
}

/**
 * Removes the scopes from an alternative of the whole document, because each operation states its
 * own scopes.
 */
function stripScopes(requirement: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(requirement).map((name) => [name, []]));
}

function createSelectionTest(
  source: ImportSource,
  foundOperations: readonly FoundOperation[],
  wantedNames: readonly string[] | null,
): ((operation: FoundOperation) => boolean) | undefined {
  if (wantedNames === null) return () => true;
  const nameSet = new Set(wantedNames);
  const selectableNamesOf = ({ operationId, givenId, method, path }: FoundOperation) => [
    operationId,
    ...(givenId === undefined ? [] : [givenId]),
    `${method} ${path}`,
  ];
  const knownNames = new Set(foundOperations.flatMap(selectableNamesOf));
  const unknownNames = [...nameSet].filter((name) => !knownNames.has(name));
  for (const name of unknownNames) {
    const message = `The document has no operation "${shortenText(name, 200)}". Give an operation id, or "METHOD /path".`;
    source.notes.error('operation_unknown', ['paths', name.slice(0, 200)], message);
  }
  return unknownNames.length > 0
    ? undefined
    : (operation) => selectableNamesOf(operation).some((name) => nameSet.has(name));
}

interface Inclusion {
  readonly assembly: Assembly;
  readonly schemes: Schemes;
  readonly servers: ServerChoice;
  readonly work: WorkBudget;
}

function convertIfSelected(
  source: ImportSource,
  importedOperation: FoundOperation,
  { assembly, schemes, servers, work }: Inclusion,
): ImportedOperation {
  const { notes } = source;
  const skipOperation = (
    code: NonNullable<ImportedOperation['skipped']>['code'],
    message: string,
  ) => {
    notes.warn(code, importedOperation.operation.path, `Not imported: ${message}`);
    return { ...importedOperationOf(importedOperation, false), skipped: { code, message } };
  };
  if (importedOperation.method === 'TRACE')
    return skipOperation('method_unsupported', 'TRACE requests are not sent.');
  const ownServer = servers.ownServerOf(importedOperation);
  if (ownServer === undefined) {
    return skipOperation(
      'other_server',
      'It has a server of its own that a template cannot have. Import it as a template of its own.',
    );
  }
  if (assembly.isFull) return skipOperation(doesNotFitReason.code, doesNotFitReason.message);
  if (isObject(importedOperation.operation.value['callbacks'])) {
    notes.info(
      'callbacks_ignored',
      [...importedOperation.operation.path, 'callbacks'],
      'Callbacks are left out.',
    );
  }
  try {
    const operation = { ...importedOperation, method: importedOperation.method };
    const convertedOperation = convertOperation(source, operation, { schemes, work });
    if (ownServer !== null) convertedOperation.value['servers'] = [ownServer];
    const { value, skipped, dropped } = assembly.add(importedOperation.method, convertedOperation);
    for (const { name, finding } of dropped) {
      const message = `The parameter "${shortenText(name, 100)}" is left out: ${finding.message}`;
      notes.info('parameter_dropped', placeOfParameter(source, importedOperation, name), message);
    }
    if (skipped) return skipOperation(skipped.code, skipped.message);
    const summary = textAt(value, 'summary') ?? '';
    const inferredFields = convertedOperation.inferred.filter(
      (inference) => inference !== 'scope_param' || scopeExtension in value,
    );
    return { ...importedOperationOf(importedOperation, true), inferred: inferredFields, summary };
  } catch (error) {
    if (error instanceof SkipOperation) return skipOperation(error.code, error.message);
    throw error;
  }
}

function importedOperationOf(operation: FoundOperation, included: boolean): ImportedOperation {
  const { operationId, method, path } = operation;
  return {
    operation_id: operationId,
    method,
    path,
    summary: inferSummary(operation.operation.value, { operationId, parameters: [] }).summary,
    risk: inferRisk(method, descriptiveTextsOf(operationId, readPath(path))),
    included,
    inferred: operation.givenId === operationId ? [] : ['operation_id'],
  };
}
