import type { DocumentPath } from './findings.ts';

/** The kinds of objects in a document that may have `x-service-*` extensions. */
export type ObjectKind =
  | 'document'
  | 'tool'
  | 'info'
  | 'server'
  | 'operation server'
  | 'server variable'
  | 'security scheme'
  | 'operation'
  | 'parameter'
  | 'body property';

/** The extensions that each kind of object may have, without the prefix `x-service-`. */
const extensionsByKind: Record<ObjectKind, readonly string[]> = {
  document: ['runtime', 'mcp', 'failure', 'also-at'],
  tool: ['risk', 'scope-param', 'disclose', 'redact', 'disabled', 'intents'],
  info: ['key', 'category'],
  server: ['base-url-allowed', 'for'],
  'operation server': ['base-path'],
  'server variable': ['account'],
  'security scheme': [
    'provider',
    'prefix',
    'default-secret-name',
    'parts',
    'grant',
    'label',
    'acts-as',
  ],
  operation: [
    'risk',
    'scope-param',
    'disclose',
    'redact',
    'compose',
    'failure',
    'response-type',
    'disabled',
    'multiplex',
    'intents',
  ],
  parameter: ['resolve'],
  'body property': ['resolve'],
};

const objectKinds = Object.keys(extensionsByKind) as ObjectKind[];

export const extensionNames = [...new Set(Object.values(extensionsByKind).flat())].map(
  (name) => `x-service-${name}`,
);

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

/** The kind of the object at a path; undefined when objects at that path have no extensions. */
export function objectKindAt(path: DocumentPath): ObjectKind | undefined {
  const [first, second, third] = path;
  const last = path.at(-1);
  const beforeLast = path.at(-2);
  if (path.length === 0) return 'document';
  if (first === 'x-service-mcp') {
    return second === 'tools' && path.length === 3 ? 'tool' : undefined;
  }
  if (first === 'info') return path.length === 1 ? 'info' : undefined;
  if (first === 'servers') {
    if (path.length === 4 && third === 'variables') return 'server variable';
    return path.length === 2 ? 'server' : undefined;
  }
  if (first === 'components' && second === 'securitySchemes') {
    return path.length === 3 ? 'security scheme' : undefined;
  }
  if (first === 'components' && second === 'parameters' && path.length === 3) return 'parameter';
  if (first === 'paths' && path.length === 3 && methods.has(String(third))) return 'operation';
  if (first === 'paths' && beforeLast === 'servers' && typeof last === 'number') {
    const isOfOperation = path.length === 5 && methods.has(String(third));
    return path.length === 4 || isOfOperation ? 'operation server' : undefined;
  }
  if (first === 'paths' && beforeLast === 'parameters' && typeof last === 'number') {
    return path.length <= 5 ? 'parameter' : undefined;
  }
  if (beforeLast !== 'properties') return undefined;
  const isNamedSchema = first === 'components' && second === 'schemas' && path.length === 5;
  return isNamedSchema || path.at(-3) === 'schema' ? 'body property' : undefined;
}

/**
 * Reads a key as the name of an extension: `x_service_scope_param` and `scope_param` both give
 * `scope-param`. Undefined for a key that is no extension of the gateway.
 */
export function parseExtensionName(key: string): { name: string; marked: boolean } | undefined {
  const marked = /^x[-_]service[-_]/.test(key);
  const name = (marked ? key.slice('x-service-'.length) : key).replaceAll('_', '-');
  const isKnown = objectKinds.some((kind) => extensionsByKind[kind].includes(name));
  return marked || isKnown ? { name, marked } : undefined;
}

export function mayHaveExtension(kind: ObjectKind | undefined, name: string): boolean {
  return kind !== undefined && extensionsByKind[kind].includes(name);
}

/**
 * The kinds of objects that may have the extension, for the message about a misplaced extension.
 */
export function listKindsWithExtension(name: string): ObjectKind[] {
  return objectKinds.filter((kind) => extensionsByKind[kind].includes(name));
}
