import { STATUS_CODES } from 'node:http';

import type { z } from 'zod';

import { httpRoutes } from '#contracts/all';
import { errorCodes } from '#contracts/errors';
import type { ErrorCode } from '#contracts/errors';
import { fileBody } from '#contracts/http/define';
import type { RouteSpec } from '#contracts/http/define';
import { errorsOf } from '#contracts/route-errors';
import { bodyExamples } from '../examples/body-examples.ts';
import { createAnswerExample } from '../examples/create-example.ts';
import { memberValues } from '../examples/member-values.ts';
import {
  callHeaders,
  requestIdHeader,
  securitySchemes,
  sharedHeaders,
  tags,
} from './openapi-parts.ts';
import { createSchemas, parametersOf } from './openapi-schemas.ts';
import type { JsonSchema, Schemas } from './openapi-schemas.ts';
import { eventsPath, eventsQuery } from './serve-events.ts';

export interface OpenapiDocument {
  readonly openapi: '3.1.0';
  readonly info: JsonSchema;
  readonly servers: readonly JsonSchema[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Record<string, Record<string, JsonSchema>>;
  readonly components: Record<string, JsonSchema>;
}

/** Builds the OpenAPI 3.1 document of the REST API from the route table. */
export function createOpenapiDocument(): OpenapiDocument {
  const schemas = createSchemas();
  const paths: OpenapiDocument['paths'] = {};
  const routeTable: readonly [string, RouteSpec][] = Object.entries(httpRoutes);
  for (const [name, spec] of routeTable) {
    const path = (paths[spec.path] ??= {});
    path[spec.method.toLowerCase()] = operationOf(name, spec, schemas);
  }
  paths[eventsPath] = { get: streamOperation };
  paths['/v1/openapi.json'] = { get: openapiOperation };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent Action Gateway',
      version: 'v1',
      description:
        'The gateway through which AI agents act on third-party APIs for people. Every error is a typed envelope: `error` is a stable code, `message` says what to do.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This gateway.' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.components,
      responses: buildErrorResponses(),
      securitySchemes,
      headers: sharedHeaders,
    },
  };
}

function operationOf(name: string, spec: RouteSpec, schemas: Schemas): JsonSchema {
  const parameters = [
    ...(spec.params === undefined ? [] : parametersOf(spec.params)).map((each) => ({
      ...each,
      in: 'path',
    })),
    ...(spec.query === undefined ? [] : parametersOf(spec.query)).map((each) => ({
      ...each,
      in: 'query',
    })),
    ...(name === 'callAction' ? callHeaders : []),
  ];
  return {
    operationId: name,
    summary: spec.summary,
    description: describeOperation(spec),
    tags: [spec.tag],
    ...(spec.access === 'public'
      ? { security: [] }
      : { security: [{ bearer: [] }, { session: [] }] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(spec.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: schemas.refTo(spec.body),
                example: (bodyExamples as Readonly<Record<string, unknown>>)[name],
              },
            },
          },
        }),
    responses: { ...answersOf(spec, schemas), ...errorAnswersOf(spec) },
  };
}

function describeOperation({ access, summary }: RouteSpec): string {
  switch (access) {
    case 'public':
      return `${summary}. Needs no credential.`;
    case 'any':
      return `${summary}. Any credential will do.`;
    case 'user':
      return `${summary}. Needs a session, or a token with the scope \`user\`.`;
    default:
      return `${summary}. Needs the scope \`${access}\`.`;
  }
}

function answersOf({ responses }: RouteSpec, schemas: Schemas): JsonSchema {
  return Object.fromEntries(
    Object.entries(responses).map(([status, schema]) => [
      status,
      {
        description: STATUS_CODES[status] ?? 'Answer',
        headers: requestIdHeader,
        ...(schema === null ? {} : { content: contentOf(schema, schemas) }),
      },
    ]),
  );
}

function contentOf(schema: z.ZodType, schemas: Schemas): JsonSchema {
  // OpenAPI 3.1.0 §4.8.14.2: binary content has no schema.
  if (schema === fileBody) return { '*/*': { example: 'The bytes of the file.' } };
  const reference = schemas.refTo(schema);
  return {
    'application/json': {
      schema: reference,
      example: createAnswerExample(reference, schemas.components),
    },
  };
}

/** Groups the error codes of a route by HTTP status. */
function groupErrorCodes(spec: RouteSpec): [number, ErrorCode[]][] {
  const byStatus = Map.groupBy(errorsOf(spec), (code) => errorCodes[code].httpStatus);
  return [...byStatus].filter(([status]) => spec.responses[status] === undefined);
}

function errorAnswersOf(spec: RouteSpec): JsonSchema {
  return Object.fromEntries(
    groupErrorCodes(spec).map(([status, codes]) => [
      String(status),
      { $ref: `#/components/responses/${errorName(status, codes)}` },
    ]),
  );
}

function errorName(status: number, codes: readonly ErrorCode[]): string {
  return [`Error${status}`, ...codes].join('.');
}

/** Builds one response for each distinct group of error codes; routes refer to these responses. */
function buildErrorResponses(): JsonSchema {
  const specs: readonly RouteSpec[] = [...Object.values(httpRoutes), streamSpec];
  const entries = specs
    .flatMap(groupErrorCodes)
    .map(([status, codes]) => [errorName(status, codes), buildErrorAnswer(status, codes)] as const);
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function buildErrorAnswer(status: number, codes: readonly ErrorCode[]): JsonSchema {
  const isRetryable = codes.some((code) => errorCodes[code].retryable);
  return {
    description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: {
      ...requestIdHeader,
      ...(isRetryable && (status === 429 || status === 503)
        ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
        : {}),
    },
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Error' },
            { type: 'object', properties: { error: { type: 'string', enum: [...codes] } } },
          ],
        },
      },
    },
  };
}

const streamSpec: RouteSpec = {
  method: 'GET',
  path: eventsPath,
  summary: 'Events of the caller as they happen, as Server-Sent Events',
  tag: 'Events',
  access: 'approvals',
  query: eventsQuery,
  responses: {},
  // The response has already begun when the gateway calls the notifier. Therefore this route cannot
  // answer with the notifier's errors.
  serves: 'none',
  audit: 'none',
};

const streamExample = `id: 42
event: approval.bubbled
data: ${JSON.stringify(memberValues['Delivery.body'])}

`;

const streamOperation: JsonSchema = {
  operationId: 'streamEvents',
  summary: streamSpec.summary,
  description: `${describeOperation(streamSpec)} Each event has an \`id\`; send the last one as \`Last-Event-ID\` to go on from there, for up to 7 days.`,
  tags: ['Events'],
  security: [{ bearer: [] }, { session: [] }],
  parameters: [
    ...parametersOf(eventsQuery).map((each) => ({ ...each, in: 'query' })),
    {
      name: 'Last-Event-ID',
      in: 'header',
      required: false,
      description: 'The id of the last event that was read.',
      schema: { type: 'string', pattern: '^\\d{1,15}$' },
    },
  ],
  responses: {
    200: {
      description: 'The stream: `data` of each event is `{id, type, created_at, org_id, data}`.',
      headers: requestIdHeader,
      content: { 'text/event-stream': { schema: { type: 'string' }, example: streamExample } },
    },
    ...errorAnswersOf(streamSpec),
  },
};

const openapiOperation: JsonSchema = {
  operationId: 'getOpenapi',
  summary: 'This document',
  description: 'This document. Needs no credential.',
  tags: ['Status'],
  security: [],
  responses: {
    200: {
      description: 'OpenAPI 3.1.',
      headers: requestIdHeader,
      content: {
        'application/json': {
          schema: { type: 'object' },
          example: { openapi: '3.1.0', info: { title: 'Agent Action Gateway', version: 'v1' } },
        },
      },
    },
    500: { $ref: `#/components/responses/${errorName(500, ['internal'])}` },
  },
};
