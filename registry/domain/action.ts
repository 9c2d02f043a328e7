import type {
  AuthMethod,
  CompiledAction,
  CompiledParam,
  DescriptionPart,
} from '#contracts/template';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { weighJson } from '#json-schema';
import type { Context, JsonObject, Place } from './context.ts';
import { parametersOf, parseDescription } from './description.ts';
import { compileDisclose, compileRedact } from './disclosure.ts';
import { checkFields } from './fields.ts';
import { didYouMean } from './nearest.ts';
import { nameParams } from './parameter-names.ts';
import { compileParameters } from './parameters.ts';
import type { DeclaredParam } from './parameters.ts';
import { checkPathParams } from './paths.ts';
import { readFlag, readText } from './reading.ts';
import { compileBody } from './request-body.ts';
import { checkResolves } from './resolve-block.ts';
import { unsuitedScope } from './scope-param.ts';
import { readRequirements } from './security.ts';

const operationId = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const risks = ['read', 'write', 'delete'] as const;
const responseTypes = ['json', 'binary'] as const;
const bodyless: readonly HttpMethod[] = ['GET', 'HEAD', 'OPTIONS'];

export interface OperationSource {
  readonly method: HttpMethod;
  readonly path: Place<string>;
  readonly pathItem: Place<JsonObject>;
  readonly operation: Place<JsonObject>;
  readonly authMethods: readonly AuthMethod[];
}

/** One operation as an action; undefined when what is wrong with it leaves nothing to compile. */
export function compileAction(
  context: Context,
  source: OperationSource,
): CompiledAction | undefined {
  const { method, path, operation } = source;
  checkFields(context, operation, 'operation');
  checkUnsupported(context, operation);
  const key = readOperationId(context, operation);
  const ownParams = compileParameters(context, source);
  checkPathParams(context, path, ownParams);
  const body = mayHaveBody(context, source) ? compileBody(context, operation) : undefined;
  const wholeBody = body?.body.wholeBody ?? false;
  const named = nameParams(context, {
    params: [...ownParams, ...(body?.params ?? [])],
    path,
    wholeBody,
    conditions: body?.conditions ?? {},
  });
  const { params } = named;
  checkResolves(context, params);
  const summary = readText(context, operation, { key: 'summary', max: 1000, required: true });
  const description = compileDescription(context, operation, params);
  const paramsSchema = paramsSchemaOf(params, named.conditions);
  checkWeight(context, operation, paramsSchema);
  const action = {
    method,
    path: named.path,
    risk: readRisk(context, operation, method),
    scopeParam: readScopeParam(context, operation, params),
    params: params.map(withoutPlace),
    paramsSchema,
    body: body?.body ?? null,
    disclose: compileDisclose(context, operation),
    redact: compileRedact(context, operation, { params, wholeBody }),
    responseType:
      readChoice(context, operation, { key: 'x-service-response-type', choices: responseTypes }) ??
      'json',
    minimumScopes: readMinimumScopes(context, operation, source.authMethods),
    disabled: readFlag(context, operation, 'x-service-disabled') ?? false,
    ...(readFlag(context, operation, 'x-service-multiplex') === true && {
      multiplex: true as const,
    }),
  };
  if (key === undefined || summary === undefined || description === undefined) return undefined;
  return { key, summary, description, ...action };
}

/** Making a check of more takes seconds, which no call has. */
const schemaWeightMax = 10_000;

function checkWeight({ findings, budget }: Context, { path }: Place, paramsSchema: unknown): void {
  // Said already, of the whole document.
  if (budget.schemaNodes < 0) return;
  if (weighJson(paramsSchema, schemaWeightMax + 1) <= schemaWeightMax) return;
  const message = `The schemas of what a caller gives have more than ${schemaWeightMax} parts, too many to check calls by. Describe only what callers need.`;
  findings.error('too_complex', path, message);
}

function checkUnsupported({ findings }: Context, operation: Place<JsonObject>): void {
  if ('servers' in operation.value) {
    const message =
      'Calls go to the server of the document. Remove "servers" here, or make another template.';
    findings.error('unsupported', [...operation.path, 'servers'], message);
  }
  if ('callbacks' in operation.value) {
    const message = 'Callbacks are not supported and would never be called. Remove them.';
    findings.error('unsupported', [...operation.path, 'callbacks'], message);
  }
}

function readOperationId(context: Context, operation: Place<JsonObject>): string | undefined {
  const key = readText(context, operation, { key: 'operationId', max: 200, required: true });
  if (key === undefined || operationId.test(key)) return key;
  const message =
    'An operationId starts with a letter and holds only letters, digits, "_", "." and "-", at most 128 characters.';
  context.findings.error('operation_id_invalid', [...operation.path, 'operationId'], message);
  return undefined;
}

/** OpenAPI 3.1.0 §4.8.10, requestBody: where HTTP gives a body no meaning, it is better left out. */
function mayHaveBody({ findings }: Context, { method, operation }: OperationSource): boolean {
  if (!bodyless.includes(method)) return true;
  if ('requestBody' in operation.value) {
    const message = `The body of a ${method} request is not sent. Use query parameters, or another method.`;
    findings.warn('body_ignored', [...operation.path, 'requestBody'], message);
  }
  return false;
}

function compileDescription(
  { findings }: Context,
  operation: Place<JsonObject>,
  params: readonly DeclaredParam[],
): DescriptionPart[] | undefined {
  const text = operation.value['summary'];
  if (typeof text !== 'string') return undefined;
  const path = [...operation.path, 'summary'];
  const parsed = parseDescription(text);
  if (!parsed.ok) {
    findings.error('summary_invalid', path, `The summary cannot be read: ${parsed.problem}.`);
    return undefined;
  }
  for (const [name, { optional }] of parametersOf(parsed.parts)) {
    const param = params.find((candidate) => candidate.name === name);
    if (param === undefined) {
      const hint = didYouMean(
        name,
        params.map((candidate) => candidate.name),
      );
      findings.error(
        'summary_param_unknown',
        path,
        `The operation has no parameter "${name}".${hint}`,
      );
    } else if (!param.required && !optional) {
      const message = `"${name}" may be absent. Put the words around {${name}} into [brackets], so that they are left out with it.`;
      findings.warn('summary_invalid', path, message);
    }
  }
  return parsed.parts;
}

function readRisk(context: Context, operation: Place<JsonObject>, method: HttpMethod): Risk {
  const byMethod = method === 'DELETE' ? 'delete' : bodyless.includes(method) ? 'read' : 'write';
  const key = 'x-service-risk';
  if (operation.value[key] === undefined) return byMethod;
  const risk = risks.find((candidate) => candidate === operation.value[key]);
  if (risk === undefined) {
    context.findings.error(
      'risk_invalid',
      [...operation.path, key],
      '"risk" must be read, write or delete.',
    );
    return 'delete';
  }
  if (method === 'DELETE' && risk !== 'delete') {
    const message = `A DELETE request of risk "${risk}" is approved more easily than it deserves. Use delete unless nothing is lost.`;
    context.findings.warn('risk_understated', [...operation.path, key], message);
  }
  return risk;
}

function readScopeParam(
  context: Context,
  operation: Place<JsonObject>,
  params: readonly DeclaredParam[],
): string | null {
  const key = 'x-service-scope-param';
  const name = readText(context, operation, { key, max: 200, required: false });
  if (name === undefined) return null;
  const param = params.find((candidate) => candidate.name === name);
  const path = [...operation.path, key];
  if (param === undefined) {
    const known = params.map((candidate) => candidate.name);
    const message = `The operation has no parameter "${name}".${didYouMean(name, known)} Rules for it would never match.`;
    context.findings.error('scope_param_unknown', path, message);
    return null;
  }
  if ('default' in param.schema) {
    const message = `"${name}" has a value of its own, so what it stands for would not be in the key. Choose a parameter without default.`;
    context.findings.error('scope_param_unsuited', path, message);
    return name;
  }
  const unsuited = unsuitedScope(param.schema);
  if (unsuited !== undefined) {
    context.findings.error('scope_param_unsuited', path, `"${name}" ${unsuited}.`);
  } else if (param.schema['type'] === 'array') {
    const message = `"${name}" is a list; its key would be its JSON text. Choose a parameter that is a single value.`;
    context.findings.warn('scope_param_unsuited', path, message);
  }
  return name;
}

function readChoice<Choice extends string>(
  { findings }: Context,
  at: Place<JsonObject>,
  { key, choices }: { key: string; choices: readonly Choice[] },
): Choice | undefined {
  const value = at.value[key];
  const choice = choices.find((candidate) => candidate === value);
  if (value !== undefined && choice === undefined) {
    findings.error('wrong_type', [...at.path, key], `The value must be ${choices.join(' or ')}.`);
  }
  return choice;
}

/** Of several alternatives the first that names scopes counts: a connection has one set of them. */
function readMinimumScopes(
  context: Context,
  operation: Place<JsonObject>,
  authMethods: readonly AuthMethod[],
): string[] | null {
  const requirements = readRequirements(context, operation, authMethods) ?? [];
  const scopes = requirements
    .map((requirement) => requirement.scopes)
    .filter((list) => list.length > 0);
  if (scopes.length > 1) {
    const message = 'Only the scopes of the first alternative are checked. Keep one.';
    context.findings.warn('unsupported', [...operation.path, 'security'], message);
  }
  return scopes[0] ?? null;
}

/** What callers may give, closed: constants are not among it, since there is nothing to choose. */
function paramsSchemaOf(params: readonly DeclaredParam[], conditions: JsonObject): JsonObject {
  const offered = params.filter((param) => !('const' in param.schema) || param.in === 'body');
  const properties = offered.map((param) => [
    param.name,
    param.description === '' ? param.schema : { ...param.schema, description: param.description },
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: offered.filter((param) => param.required).map((param) => param.name),
    additionalProperties: false,
    ...conditions,
  };
}

/**
 * What executor and policy need of a parameter. They fill in defaults; that of a property of the
 * body is only a note on what the server does, and sending it could overwrite what is there.
 */
function withoutPlace(declared: DeclaredParam): CompiledParam {
  const { at: _at, ...param } = declared;
  if (param.in !== 'body') return param;
  const { default: _default, ...schema } = param.schema;
  return { ...param, schema };
}
