import type { Path } from './findings.ts';

/** The parts of a document that carry extensions of ours. */
export type ObjectKind =
  | 'document'
  | 'tool'
  | 'info'
  | 'server'
  | 'security scheme'
  | 'operation'
  | 'parameter'
  | 'body property';

/** Names without the `x-service-` in front, by where they belong. */
const extensionsOf: Record<ObjectKind, readonly string[]> = {
  document: ['runtime', 'mcp'],
  tool: ['risk', 'scope-param', 'disclose', 'redact', 'disabled'],
  info: ['key', 'category'],
  server: ['base-url-allowed'],
  'security scheme': ['provider', 'prefix', 'default-secret-name'],
  operation: [
    'risk',
    'scope-param',
    'disclose',
    'redact',
    'response-type',
    'disabled',
    'multiplex',
  ],
  parameter: ['resolve'],
  'body property': ['resolve'],
};

const kinds = Object.keys(extensionsOf) as ObjectKind[];

export const extensionNames = [...new Set(Object.values(extensionsOf).flat())].map(
  (name) => `x-service-${name}`,
);

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

/** What kind of object stands at a path, if it is one that may carry extensions. */
export function kindAt(path: Path): ObjectKind | undefined {
  const [first, second, third] = path;
  const last = path.at(-1);
  const beforeLast = path.at(-2);
  if (path.length === 0) return 'document';
  if (first === 'x-service-mcp') {
    return second === 'tools' && path.length === 3 ? 'tool' : undefined;
  }
  if (first === 'info') return path.length === 1 ? 'info' : undefined;
  if (first === 'servers') return path.length === 2 ? 'server' : undefined;
  if (first === 'components' && second === 'securitySchemes') {
    return path.length === 3 ? 'security scheme' : undefined;
  }
  if (first === 'components' && second === 'parameters' && path.length === 3) return 'parameter';
  if (first === 'paths' && path.length === 3 && methods.has(String(third))) return 'operation';
  if (first === 'paths' && beforeLast === 'parameters' && typeof last === 'number') {
    return path.length <= 5 ? 'parameter' : undefined;
  }
  if (beforeLast !== 'properties') return undefined;
  const isNamedSchema = first === 'components' && second === 'schemas' && path.length === 5;
  return isNamedSchema || path.at(-3) === 'schema' ? 'body property' : undefined;
}

/** `x_service_scope_param` and `scope_param` are read as `scope-param`; undefined for other people's keys. */
export function extensionName(key: string): { name: string; marked: boolean } | undefined {
  const marked = /^x[-_]service[-_]/.test(key);
  const name = (marked ? key.slice('x-service-'.length) : key).replaceAll('_', '-');
  const known = kinds.some((kind) => extensionsOf[kind].includes(name));
  return marked || known ? { name, marked } : undefined;
}

export function isExtensionOf(kind: ObjectKind | undefined, name: string): boolean {
  return kind !== undefined && extensionsOf[kind].includes(name);
}

/** Where an extension belongs, for the message to someone who put it elsewhere. */
export function homesOf(name: string): ObjectKind[] {
  return kinds.filter((kind) => extensionsOf[kind].includes(name));
}
