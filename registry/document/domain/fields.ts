import { isObject } from './context.ts';
import type { CompileContext, DocumentNode } from './context.ts';
import { parseExtensionName, listKindsWithExtension } from './extensions.ts';
import { didYouMean } from './nearest.ts';

/**
 * The fields that each object of OpenAPI 3.1.0 (§4.8) may have. Fields are checked against this
 * list, because otherwise a misspelled field would silently have no effect.
 */
const fieldsByObject = {
  document: [
    'openapi',
    'info',
    'jsonSchemaDialect',
    'servers',
    'paths',
    'webhooks',
    'components',
    'security',
    'tags',
    'externalDocs',
  ],
  info: ['title', 'summary', 'description', 'termsOfService', 'contact', 'license', 'version'],
  server: ['url', 'description', 'variables'],
  'server variable': ['enum', 'default', 'description'],
  'account look-up': ['get', 'items', 'value', 'label'],
  components: [
    'schemas',
    'responses',
    'parameters',
    'examples',
    'requestBodies',
    'headers',
    'securitySchemes',
    'links',
    'callbacks',
    'pathItems',
  ],
  'security scheme': [
    'type',
    'description',
    'name',
    'in',
    'scheme',
    'bearerFormat',
    'flows',
    'openIdConnectUrl',
  ],
  grant: [
    'type',
    'header',
    'client_authentication',
    'request',
    'parameters',
    'issuer',
    'subject',
    'audience',
    'service',
    'region',
  ],
  'credential part': ['name', 'label', 'secret', 'optional'],
  flow: ['authorizationUrl', 'tokenUrl', 'refreshUrl', 'scopes'],
  path: [
    '$ref',
    'summary',
    'description',
    'servers',
    'parameters',
    'get',
    'put',
    'post',
    'delete',
    'options',
    'head',
    'patch',
    'trace',
  ],
  operation: [
    'tags',
    'summary',
    'description',
    'externalDocs',
    'operationId',
    'parameters',
    'requestBody',
    'responses',
    'callbacks',
    'deprecated',
    'security',
    'servers',
  ],
  parameter: [
    'name',
    'in',
    'description',
    'required',
    'deprecated',
    'allowEmptyValue',
    'style',
    'explode',
    'allowReserved',
    'schema',
    'example',
    'examples',
    'content',
  ],
  'request body': ['description', 'content', 'required'],
  'media type': ['schema', 'example', 'examples', 'encoding'],
  encoding: ['contentType', 'headers', 'style', 'explode', 'allowReserved'],
  disclosure: ['label', 'filter', 'max_chars'],
  compose: ['format', 'into', 'encoding'],
  failure: ['when', 'code', 'kinds', 'nothing_done'],
  'resolve block': ['get', 'pick'],
  'mcp block': ['url', 'transport', 'auth', 'secret', 'provider', 'autodiscover', 'tools'],
  tool: [],
} as const satisfies Record<string, readonly string[]>;

export type OpenApiObject = keyof typeof fieldsByObject;

/**
 * Reports fields that OpenAPI does not define. Accepts extensions: `normalise` has checked those of
 * the gateway, and those of other vendors have no effect.
 */
export function checkFields(
  { findings }: CompileContext,
  node: DocumentNode,
  kind: OpenApiObject,
): void {
  if (!isObject(node.value)) return;
  const knownFields: readonly string[] = fieldsByObject[kind];
  for (const key of Object.keys(node.value)) {
    if (key.startsWith('x-') || knownFields.includes(key)) continue;
    const allowedKinds = listKindsWithExtension(parseExtensionName(key)?.name ?? '');
    const hint =
      allowedKinds.length > 0
        ? ` It belongs on the ${allowedKinds.join(' or ')}.`
        : didYouMean(key, knownFields);
    findings.error(
      'unknown_field',
      [...node.path, key],
      `"${key}" is not a field of ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}.${hint}`,
    );
  }
}
