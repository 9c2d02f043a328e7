import { reservedNames } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject } from '../../document/domain/context.ts';
import { checkHead, createAssembly, doesNotFitReason, scopeExtension } from './assemble.ts';
import type { Assembly } from './assemble.ts';
import { convertSwagger } from './convert-swagger.ts';
import { findCredentialParameters } from './credential-parameters.ts';
import type { ImportFinding, ImportRequest, Imported, ImportedOperation } from './imported.ts';
import { inferRisk, inferSummary } from './infer.ts';
import { createNotes } from './notes.ts';
import type { Notes } from './notes.ts';
import {
  importWorkMax,
  convertOperation,
  findOperations,
  descriptiveTextsOf,
} from './operations.ts';
import type { FoundOperation } from './operations.ts';
import { SkipOperation, placeOfParameter } from './parameters.ts';
import { placeholderNamesOf, readPath } from './paths.ts';
import { readText } from './read-text.ts';
import type { WorkBudget } from './schemas.ts';
import { convertSchemes, toSlug } from './security.ts';
import type { Schemes } from './security.ts';
import { chooseServers } from './servers.ts';
import type { ServerChoice } from './servers.ts';
import { objectAt, shortenText, textAt } from './source.ts';
import type { ImportSource } from './source.ts';
import { buildSecurity, findStatedSecurity } from './template-security.ts';

export type OnProgress = (done: number, total: number) => void;

/**
 * Converts any document of OpenAPI 3 or Swagger 2.0 to a template document, and lists what the import
 * inferred. The function is pure: no I/O, no clock.
 */
export function convertDocument(request: ImportRequest, onProgress?: OnProgress): Imported {
  const readResult = readText(request.text);
  if (!readResult.ok) return readResult;
  const notes = createNotes();
  const readVersion = toKnownVersion(readResult.document, notes);
  if (readVersion === undefined) return { ok: false, findings: notes.list() };
  const { document } = readVersion;
  const source: ImportSource = { ...readVersion, notes, files: new Set() };
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

  const selectedOperations = operationsOfDocument.filter(isIncluded);
  const declared = convertSchemes(source, key);
  const stated = findStatedSecurity(source, { schemes: declared, found: selectedOperations });
  const credentials = findCredentialParameters(source, selectedOperations, {
    key,
    declared,
    stated,
    given: request.apiKey ?? null,
  });
  if (credentials === undefined) {
    notes.error('key_place_invalid', [], 'The "api_key" cannot be sent there. Name another place.');
    return { ok: false, findings: notes.list() };
  }
  const { schemes } = credentials;
  if (schemes.size === 0) {
    const message =
      'The document names no way of authenticating that can be used here. If the API asks for a key, import it again with "api_key".';
    notes.warn('auth_unknown', ['components', 'securitySchemes'], message);
  }
  const servers = chooseServers(source, selectedOperations, request);
  const templateHead = {
    openapi: '3.1.0',
    info: buildInfo(document, { title, key }),
    ...(servers.list.length > 0 && { servers: servers.list }),
    ...buildSecurity(stated, credentials),
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
  if (source.files.size > 0) return { ok: false, findings: [severalFilesFinding(source.files)] };
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

type VersionedDocument = Pick<ImportSource, 'document' | 'version'>;

/**
 * Reads the document as one of OpenAPI 3.0 or 3.1: Swagger 2.0 is converted, and OpenAPI 3.2 is
 * read without its additions. Undefined with a finding for anything else.
 */
function toKnownVersion(document: JsonObject, notes: Notes): VersionedDocument | undefined {
  const [, minor] =
    /^3\.([012])\.\d{1,3}(?:-[\w.]{1,30})?$/.exec(textAt(document, 'openapi') ?? '') ?? [];
  if (minor === '0') return { document, version: '3.0' };
  if (minor !== undefined) {
    if (minor === '2') notes.warn('version_changed', ['openapi'], readAs31);
    return { document, version: '3.1' };
  }
  // In YAML, a version without quotes is a number.
  const isSwagger = document['swagger'] === '2.0' || document['swagger'] === 2;
  const converted = isSwagger ? convertSwagger({ ...document, swagger: '2.0' }) : undefined;
  if (converted !== undefined) {
    notes.info('version_changed', ['swagger'], convertedFrom20);
    return { document: converted, version: '3.0' };
  }
  const code = 'openapi' in document || 'swagger' in document ? 'openapi_version' : 'not_openapi';
  const message = isSwagger
    ? 'This document of Swagger 2.0 could not be converted. Mend it, or convert it to OpenAPI 3.0 with another tool, such as converter.swagger.io.'
    : 'This version cannot be imported. Convert the document to OpenAPI 3.0 or 3.1.';
  notes.error(code, 'openapi' in document ? ['openapi'] : [], message);
  return undefined;
}

const readAs31 =
  'OpenAPI 3.2 was read as 3.1. What it adds is left out, such as operations of the method QUERY and of "additionalOperations".';
const convertedFrom20 =
  'Swagger 2.0 was converted to OpenAPI 3.0. The paths of findings are those in the converted document.';

/**
 * Makes one finding instead of one for each reference, because most of the document is in the other
 * files.
 */
function severalFilesFinding(files: ReadonlySet<string>): ImportFinding {
  const [first = ''] = files;
  const others = files.size > 1 ? ` and ${files.size - 1} more` : '';
  const message = `The document is in several files: it refers to "${shortenText(first, 200)}"${others}, and other files are not fetched. Make one file of them, as "redocly bundle" does, and import that.`;
  return { code: 'several_files', message, path: '', severity: 'error' };
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
  const { operationId, method, path, words } = operation;
  const { sentPath } = readPath(path);
  const parameters = placeholderNamesOf(sentPath).map((name) => ({ name, in: 'path' }));
  return {
    operation_id: operationId,
    method,
    path,
    summary: inferSummary({ operationId, path: sentPath, words, parameters }).summary,
    ...(words.isDeprecated && { deprecated: true as const }),
    risk: inferRisk(method, descriptiveTextsOf(operationId, readPath(path))),
    included,
    inferred: operation.givenId === operationId ? [] : ['operation_id'],
  };
}
