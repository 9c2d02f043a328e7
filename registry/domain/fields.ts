import { isObject } from './context.ts';
import type { Context, Place } from './context.ts';
import { extensionName, homesOf } from './extensions.ts';
import { didYouMean } from './nearest.ts';

/** The fixed fields of OpenAPI 3.1.0 (§4.8), by object. A misspelled one would be ignored silently. */
const fieldsOf = {
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
  'resolve block': ['get', 'pick'],
  'mcp block': ['url', 'transport', 'auth', 'secret', 'provider', 'autodiscover', 'tools'],
  tool: [],
} as const satisfies Record<string, readonly string[]>;

export type FieldsOf = keyof typeof fieldsOf;

/** Reports fields OpenAPI does not know. Extensions were judged earlier; those of other vendors pass. */
export function checkFields({ findings }: Context, at: Place, kind: FieldsOf): void {
  if (!isObject(at.value)) return;
  const known: readonly string[] = fieldsOf[kind];
  for (const key of Object.keys(at.value)) {
    if (key.startsWith('x-') || known.includes(key)) continue;
    const homes = homesOf(extensionName(key)?.name ?? '');
    const hint =
      homes.length > 0 ? ` It belongs on the ${homes.join(' or ')}.` : didYouMean(key, known);
    findings.error(
      'unknown_field',
      [...at.path, key],
      `"${key}" is not a field of a ${kind}.${hint}`,
    );
  }
}
