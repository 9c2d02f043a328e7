import type {
  AuthMethod,
  CompiledAction,
  CompiledParam,
  DescriptionPart,
  ScopeParam,
} from '#contracts/template';
import type { ActionServer } from '#contracts/template-server';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { weighJson } from '#json-schema';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { compileCompose } from './compose.ts';
import { parametersOf, parseDescription } from './description.ts';
import { compileDisclose, compileRedact } from './disclosure.ts';
import { compileFailure } from './failure.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { didYouMean } from '../../document/domain/nearest.ts';
import { nameParams } from './parameter-names.ts';
import { compileParameters } from './parameters.ts';
import type { DeclaredParam } from './parameters.ts';
import { checkPathParams } from './paths.ts';
import { readFlag, readText } from '../../document/domain/reading.ts';
import { compileBody } from './request-body.ts';
import { checkResolves } from './resolve-block.ts';
import { readScopeForm, scopePathProblem } from './read-scope.ts';
import { scopeParamProblem } from './scope-param.ts';
import { readRequirements } from '../../security/domain/requirements.ts';
import { compileActionServer } from '../../servers/domain/action-server.ts';

const operationIdPattern = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const risks = ['read', 'write', 'delete'] as const;
const responseTypes = ['json', 'binary'] as const;
const methodsWithoutBody: readonly HttpMethod[] = ['GET', 'HEAD', 'OPTIONS'];

export interface OperationSource {
  readonly method: HttpMethod;
  readonly path: DocumentNode<string>;
  readonly pathItem: DocumentNode<JsonObject>;
  readonly operation: DocumentNode<JsonObject>;
  readonly authMethods: readonly AuthMethod[];
  /** The server that the path has of its own. */
  readonly pathServer: ActionServer | undefined;
}

/**
 * Compiles one operation to an action; undefined when the operation has so many mistakes that no
 * action can be made.
 */
export function compileAction(
  context: CompileContext,
  source: OperationSource,
): CompiledAction | undefined {
  const { method, path, operation } = source;
  checkFields(context, operation, 'operation');
  checkUnsupported(context, operation);
  const key = readOperationId(context, operation);
  const ownParams = compileParameters(context, source);
  checkPathParams(context, path, ownParams);
  const body = mayHaveBody(context, source) ? compileBody(context, operation) : undefined;
  const isWholeBody = body?.body.wholeBody ?? false;
  const paramsWithNames = nameParams(context, {
    params: [...ownParams, ...(body?.params ?? [])],
    path,
    wholeBody: isWholeBody,
    conditions: body?.conditions ?? {},
  });
  const { params, compose } = compileCompose(context, operation, {
    params: paramsWithNames.params,
    body: body?.body ?? null,
  });
  checkResolves(context, params);
  const summary = readText(context, operation, { key: 'summary', max: 1000, required: true });
  const description = compileDescription(context, operation, params);
  const paramsSchema = paramsSchemaOf(params, paramsWithNames.conditions);
  checkSchemaWeight(context, operation, paramsSchema);
  const failure = compileFailure(context, operation);
  const server = compileActionServer(context, operation) ?? source.pathServer;
  const action = {
    method,
    path: paramsWithNames.path,
    ...(server && { server }),
    risk: readRisk(context, operation, method),
    scopeParam: readScopeParam(context, operation, params),
    params: params.map(toCompiledParam),
    paramsSchema,
    body: body?.body ?? null,
    disclose: compileDisclose(context, operation),
    redact: compileRedact(context, operation, { params, wholeBody: isWholeBody }),
    responseType:
      readChoice(context, operation, { key: 'x-service-response-type', choices: responseTypes }) ??
      'json',
    ...compileSecurity(context, operation, source.authMethods),
    disabled: readFlag(context, operation, 'x-service-disabled') ?? false,
    ...(readFlag(context, operation, 'deprecated') === true && { deprecated: true as const }),
    ...(readFlag(context, operation, 'x-service-multiplex') === true && {
      multiplex: true as const,
    }),
    ...(failure && { failure }),
    ...(compose && { compose }),
  };
  if (key === undefined || summary === undefined || description === undefined) return undefined;
  return { key, summary, description, ...action };
}

/**
 * The largest schema that calls are checked against. Building a validator for a larger one takes
 * seconds, and a call cannot wait that long.
 */
const schemaWeightMax = 10_000;

function checkSchemaWeight(
  { findings, budget }: CompileContext,
  { path }: DocumentNode,
  paramsSchema: unknown,
): void {
  // The document as a whole is too large, and another finding already says so.
  if (budget.schemaNodes < 0) return;
  if (weighJson(paramsSchema, schemaWeightMax + 1) <= schemaWeightMax) return;
  const message = `The schemas of what a caller gives have more than ${schemaWeightMax} parts, too many to check calls by. Describe only what callers need.`;
  findings.error('too_complex', path, message);
}

function checkUnsupported({ findings }: CompileContext, operation: DocumentNode<JsonObject>): void {
  if ('callbacks' in operation.value) {
    const message = 'Callbacks are not supported and would never be called. Remove them.';
    findings.error('unsupported', [...operation.path, 'callbacks'], message);
  }
}

function readOperationId(
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
): string | undefined {
  const key = readText(context, operation, { key: 'operationId', max: 200, required: true });
  if (key === undefined || operationIdPattern.test(key)) return key;
  const message =
    'An operationId starts with a letter and holds only letters, digits, "_", "." and "-", at most 128 characters.';
  context.findings.error('operation_id_invalid', [...operation.path, 'operationId'], message);
  return undefined;
}

/**
 * Whether HTTP defines a meaning for a body with this method. If not, OpenAPI says to ignore the
 * `requestBody` (3.1.0 §4.8.10).
 */
function mayHaveBody(
  { findings }: CompileContext,
  { method, operation }: OperationSource,
): boolean {
  if (!methodsWithoutBody.includes(method)) return true;
  if ('requestBody' in operation.value) {
    const message = `The body of a ${method} request is not sent. Use query parameters, or another method.`;
    findings.warn('body_ignored', [...operation.path, 'requestBody'], message);
  }
  return false;
}

function compileDescription(
  { findings }: CompileContext,
  operation: DocumentNode<JsonObject>,
  params: readonly DeclaredParam[],
): DescriptionPart[] | undefined {
  const text = operation.value['summary'];
  if (typeof text !== 'string') return undefined;
  const path = [...operation.path, 'summary'];
  const parsedDescription = parseDescription(text);
  if (!parsedDescription.ok) {
    findings.error(
      'summary_invalid',
      path,
      `The summary cannot be read: ${parsedDescription.problem}.`,
    );
    return undefined;
  }
  for (const [name, { optional }] of parametersOf(parsedDescription.parts)) {
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
  return parsedDescription.parts;
}

function readRisk(
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
  method: HttpMethod,
): Risk {
  const riskByMethod =
    method === 'DELETE' ? 'delete' : methodsWithoutBody.includes(method) ? 'read' : 'write';
  const key = 'x-service-risk';
  if (operation.value[key] === undefined) return riskByMethod;
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
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
  params: readonly DeclaredParam[],
): ScopeParam | null {
  const writtenScope = readScopeForm(context, operation);
  if (writtenScope === undefined) return null;
  const path = [...operation.path, 'x-service-scope-param'];
  if (typeof writtenScope === 'string' && params.some(({ name }) => name === writtenScope)) {
    return checkScopeName(context, { name: writtenScope, path, params });
  }
  const scope = typeof writtenScope === 'string' ? [{ params: [writtenScope] }] : writtenScope;
  const problems = scope.flatMap(({ params: paths, as }) =>
    paths.flatMap((scopePath) => {
      const problem = scopePathProblem(scopePath, params, as);
      return problem === undefined ? [] : [{ each: scopePath, ...problem }];
    }),
  );
  for (const { each, code, text } of problems) {
    const names = params.map((candidate) => candidate.name);
    const hint = code === 'scope_param_unknown' ? didYouMean(each, names) : '';
    const message =
      code === 'scope_param_unknown'
        ? `The operation has no parameter "${each}".${hint} Rules for it would never match.`
        : `"${each}" ${text}.`;
    context.findings.error(code, path, message);
  }
  return problems.length === 0 ? scope : null;
}

function checkScopeName(
  context: CompileContext,
  {
    name,
    path,
    params,
  }: { name: string; path: DocumentNode['path']; params: readonly DeclaredParam[] },
): string {
  const schema = params.find((candidate) => candidate.name === name)?.schema ?? {};
  if ('default' in schema) {
    const message = `"${name}" has a value of its own, so what it stands for would not be in the key. Choose a parameter without default.`;
    context.findings.error('scope_param_unsuited', path, message);
    return name;
  }
  const unsuitedReason = scopeParamProblem(schema);
  if (unsuitedReason !== undefined) {
    context.findings.error('scope_param_unsuited', path, `"${name}" ${unsuitedReason}.`);
  } else if (schema['type'] === 'array') {
    const message = `"${name}" is a list; its key would be its JSON text. Write "${name}[]" for a key for each value, or choose a parameter that is a single value.`;
    context.findings.warn('scope_param_unsuited', path, message);
  }
  return name;
}

function readChoice<Choice extends string>(
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
  { key, choices }: { key: string; choices: readonly Choice[] },
): Choice | undefined {
  const value = node.value[key];
  const choice = choices.find((candidate) => candidate === value);
  if (value !== undefined && choice === undefined) {
    findings.error('wrong_type', [...node.path, key], `The value must be ${choices.join(' or ')}.`);
  }
  return choice;
}

function compileSecurity(
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
  authMethods: readonly AuthMethod[],
): Pick<CompiledAction, 'security' | 'minimumScopes'> {
  const security = readRequirements(context, operation, authMethods);
  if (security === null) return { minimumScopes: null };
  const scopes = security.map((requirement) => Object.values(requirement).flat());
  return { security, minimumScopes: scopes.find((list) => list.length > 0) ?? null };
}

/**
 * The schema that the params of a call must match. It refuses undeclared params, and does not
 * contain constants, because callers cannot choose them.
 */
function paramsSchemaOf(params: readonly DeclaredParam[], bodyConditions: JsonObject): JsonObject {
  const offeredParams = params.filter((param) => !('const' in param.schema) || param.in === 'body');
  const properties = offeredParams.map((param) => [
    param.name,
    param.description === '' ? param.schema : { ...param.schema, description: param.description },
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: offeredParams.filter((param) => param.required).map((param) => param.name),
    additionalProperties: false,
    ...bodyConditions,
  };
}

/**
 * The part of a parameter that executor and policy need. Both fill in missing params from
 * `default`, but not for body properties: the `default` of a body property only describes what the
 * server does, and sending it could overwrite a stored value.
 */
function toCompiledParam(declaredParam: DeclaredParam): CompiledParam {
  const { at: _at, ...param } = declaredParam;
  if (param.in !== 'body') return param;
  const { default: _default, ...schema } = param.schema;
  return { ...param, schema };
}
