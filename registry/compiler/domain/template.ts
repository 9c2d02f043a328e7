import { compiledTemplate } from '#contracts/template';
import type { AuthMethod, CompiledAction, CompiledTemplate } from '#contracts/template';
import { reservedNames } from '#contracts/vocabulary';
import type { HttpMethod } from '#contracts/vocabulary';
import { compileAction } from './action.ts';
import { compileFailure } from './failure.ts';
import { isObject } from '../../document/domain/context.ts';
import type {
  CompileOptions,
  CompileContext,
  JsonObject,
  DocumentNode,
} from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { createFindings, pointerTo } from '../../document/domain/findings.ts';
import type { Findings, Report } from '../../document/domain/findings.ts';
import { normaliseNode } from '../../document/domain/normalise.ts';
import { checkPath } from './paths.ts';
import { entryNodesOf, readObject, readText } from '../../document/domain/reading.ts';
import { schemaNodesMax } from '../../document/domain/schema.ts';
import { compileIntents } from './intents.ts';
import { compileMcpBlock } from './mcp-block.ts';
import { readRequirements } from '../../security/domain/requirements.ts';
import { compileSecuritySchemes } from '../../security/domain/security.ts';
import { checkServerSchemes } from '../../servers/domain/check-server-schemes.ts';
import { addActionServers, compileActionServer } from '../../servers/domain/action-server.ts';
import { compileAlsoAt } from '../../servers/domain/also-at.ts';
import { compileServers } from '../../servers/domain/compile-servers.ts';
import { parseSource } from '../../document/domain/source.ts';

export type { CompileOptions } from '../../document/domain/context.ts';

export interface CompileResult {
  readonly report: Report;
  /** The document with canonical extension names; undefined when the text could not be parsed. */
  readonly document: JsonObject | undefined;
  /** Present if and only if the report has no errors. */
  readonly template: CompiledTemplate | undefined;
}

const templateKeyPattern = /^[a-z][a-z0-9_-]{0,62}$/;
/**
 * Keys that a template must not have, because its route would collide with another route, such as
 * /v1/templates/validate.
 */
const keysReservedByRoutes = ['validate', 'import', 'uploads'];
const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const;
export const actionsMax = 1_000;
/** The largest compiled template. One message on the bus carries it, and a message holds 4 MiB. */
export const compiledBytesMax = 3_000_000;

/** Reads, checks and compiles a template document. The report lists all mistakes at once. */
export function compileTemplate(text: string, options: CompileOptions): CompileResult {
  const { value, findings } = parseSource(text);
  if (value === undefined || !isObject(value)) {
    if (value !== undefined)
      findings.error('wrong_type', [], 'A template must be an OpenAPI 3.1.0 document.');
    return { report: findings.report(), document: undefined, template: undefined };
  }
  return compileValue(value, findings, options);
}

/**
 * Compiles a document that is already parsed, such as an imported one; findings then have no line
 * numbers. To compile several documents with the same schemas faster, pass the same
 * `checkedSchemas` each time.
 */
export function compileParsed(
  value: JsonObject,
  options: CompileOptions & Partial<Pick<CompileContext, 'checkedSchemas'>>,
): CompileResult {
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  return compileValue(value, findings, options);
}

function compileValue(
  value: JsonObject,
  findings: Findings,
  {
    checkedSchemas = new Map(),
    ...options
  }: CompileOptions & Partial<Pick<CompileContext, 'checkedSchemas'>>,
): CompileResult {
  const document = normaliseNode(value, findings) as JsonObject;
  const budget = { schemaNodes: schemaNodesMax };
  const compileResult = compileDocument({ document, findings, options, budget, checkedSchemas });
  if (compileResult && findings.report().valid) checkLimits({ findings }, compileResult);
  const report = findings.report();
  return { report, document, template: report.valid ? compileResult : undefined };
}

function compileDocument(context: CompileContext): CompiledTemplate | undefined {
  const rootNode: DocumentNode<JsonObject> = { value: context.document, path: [] };
  checkFields(context, rootNode, 'document');
  checkVersion(context);
  checkRuntime(context);
  const info = compileInfo(context, rootNode);
  const intents = compileIntents(context, rootNode);
  const commonFields = { ...ownerFieldsOf(context), ...(intents && { intents }) };
  if (context.document['x-service-runtime'] === 'mcp') {
    const server = compileMcpBlock(context, rootNode);
    return info && server && { ...info, ...server, ...commonFields, runtime: 'mcp', actions: {} };
  }
  const documentServers = compileServers(context, rootNode);
  const auth = compileSecuritySchemes(context, rootNode);
  const security = compileSecurity(context, rootNode, auth);
  const actions = compilePaths(context, rootNode, auth);
  const failure = compileFailure(context, rootNode);
  const alsoAt = compileAlsoAt(context, rootNode);
  const servers = documentServers && addActionServers(context, documentServers, actions);
  if (servers?.servers) checkServerSchemes(context, servers.servers, { auth, security });
  if (info === undefined || servers === undefined) return undefined;
  const compiledFields = {
    auth,
    security,
    actions,
    ...(failure && { failure }),
    ...(alsoAt.length > 0 && { alsoAt }),
  };
  return { ...info, ...servers, ...commonFields, ...compiledFields };
}

function ownerFieldsOf({ options: { tier, ownerId, version } }: CompileContext) {
  return { tier, ownerId, version };
}

function checkVersion({ document, findings }: CompileContext): void {
  if (document['openapi'] === '3.1.0') return;
  const path = 'openapi' in document ? ['openapi'] : [];
  findings.error(
    'openapi_version',
    path,
    'Set "openapi" to "3.1.0"; other versions can be imported, not loaded.',
  );
}

function checkRuntime({ document, findings }: CompileContext): void {
  const runtime = document['x-service-runtime'];
  if (runtime !== undefined && runtime !== 'http' && runtime !== 'mcp') {
    const message =
      runtime === 'platform'
        ? 'The runtime "platform" is the gateway\'s own. Use http or mcp.'
        : '"runtime" must be http or mcp.';
    findings.error('runtime_unsupported', ['x-service-runtime'], message);
  }
  if ('x-service-mcp' in document && runtime !== 'mcp') {
    const message = 'This block belongs to the runtime "mcp". Set "runtime" to mcp, or remove it.';
    findings.error('mcp_unexpected', ['x-service-mcp'], message);
  }
  if ('webhooks' in document) {
    findings.error('unsupported', ['webhooks'], 'Webhooks are no actions. Remove them.');
  }
}

type Info = Pick<CompiledTemplate, 'key' | 'title' | 'description' | 'category'>;

function compileInfo(
  context: CompileContext,
  document: DocumentNode<JsonObject>,
): Info | undefined {
  const { findings, options } = context;
  const infoNode = readObject(context, document, 'info');
  if (infoNode === undefined) {
    if (!('info' in document.value)) {
      findings.error('required_field_missing', [], 'Add "info" with a title and a key.');
    }
    return undefined;
  }
  checkFields(context, infoNode, 'info');
  const title = readText(context, infoNode, { key: 'title', max: 200, required: true });
  const key = readText(context, infoNode, { key: 'x-service-key', max: 63, required: true });
  const description = readText(context, infoNode, { key: 'description', max: 2000 }) ?? '';
  const category = readText(context, infoNode, { key: 'x-service-category', max: 100 }) ?? '';
  if (key === undefined || title === undefined) return undefined;
  const path = [...infoNode.path, 'x-service-key'];
  // A built-in template may have the key `http` and replaces the pseudo-service of that name
  // (docs/reference/templates.md#raw-http).
  const mayBeHttp = key === 'http' && options.tier === 'global';
  const isReserved = [...reservedNames, ...keysReservedByRoutes].includes(key) && !mayBeHttp;
  if (!templateKeyPattern.test(key)) {
    const message =
      'A key starts with a letter and holds only lower-case letters, digits, "_" and "-", at most 63.';
    findings.error('key_invalid', path, message);
  } else if (isReserved) {
    findings.error('key_invalid', path, `"${key}" is a reserved name. Choose another key.`);
  }
  return { key, title, description, category };
}

/**
 * In a document without `security`, each security scheme alone is sufficient for a call
 * (docs/reference/templates.md#services).
 */
function compileSecurity(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  auth: readonly AuthMethod[],
): string[][] {
  const requirements = readRequirements(context, node, auth);
  if (requirements === null) return auth.map(({ scheme }) => [scheme]);
  return requirements.map((requirement) => Object.keys(requirement));
}

function compilePaths(
  context: CompileContext,
  document: DocumentNode<JsonObject>,
  authMethods: readonly AuthMethod[],
): Record<string, CompiledAction> {
  const paths = readObject(context, document, 'paths');
  const actions = new Map<string, CompiledAction>();
  const idsByShape = new Map<string, string>();
  for (const [path, item] of paths ? entryNodesOf(paths) : []) {
    if (path.startsWith('x-')) continue;
    const pathItem = readPathItem(context, item);
    // The part after `#` distinguishes operations that have the same path and method. It is never
    // sent.
    const [sent = ''] = path.split('#');
    if (pathItem === undefined || !checkPath(context, { value: sent, path: item.path })) continue;
    const pathServer = compileActionServer(context, pathItem);
    for (const method of methods) {
      const operation = readObject(context, pathItem, method);
      if (operation === undefined) continue;
      reportSamePath(context, { path, item, method }, idsByShape);
      const action = compileAction(context, {
        method: method.toUpperCase() as HttpMethod,
        path: { value: sent, path: item.path },
        pathItem,
        operation,
        authMethods,
        pathServer,
      });
      if (action) addAction(context, actions, { action, operation });
    }
  }
  return Object.fromEntries(actions);
}

function readPathItem(
  context: CompileContext,
  item: DocumentNode,
): DocumentNode<JsonObject> | undefined {
  const { findings } = context;
  if (!isObject(item.value)) {
    findings.error('wrong_type', item.path, 'A path must be an object with one entry per method.');
    return undefined;
  }
  checkFields(context, item, 'path');
  for (const key of ['$ref', 'trace']) {
    if (!(key in item.value)) continue;
    const message = `"${key}" is not supported in a path. Remove it.`;
    findings.error('unsupported', [...item.path, key], message);
  }
  return { value: item.value, path: item.path };
}

/**
 * Reports paths that differ only in the names of placeholders, such as `/issues/{id}` and
 * `/issues/{number}`, because a request would match both (OpenAPI §4.8.8.1).
 */
function reportSamePath(
  context: CompileContext,
  { path, item, method }: { path: string; item: DocumentNode; method: string },
  idsByShape: Map<string, string>,
): void {
  const shape = `${method} ${path.replaceAll(/\{[^{}]*\}/g, '{}')}`;
  const sameShapeId = idsByShape.get(shape);
  if (sameShapeId !== undefined) {
    const message = `This is the same path as ${sameShapeId}. Put the operations of both into one.`;
    context.findings.error('path_duplicate', item.path, message);
  }
  idsByShape.set(shape, path);
}

function addAction(
  { findings }: CompileContext,
  actions: Map<string, CompiledAction>,
  { action, operation }: { action: CompiledAction; operation: DocumentNode<JsonObject> },
): void {
  const path = [...operation.path, 'operationId'];
  if (actions.has(action.key)) {
    findings.error(
      'operation_id_duplicate',
      path,
      `"${action.key}" is the key of another action too. Rename one.`,
    );
  } else if (action.key === 'constructor' || action.key === 'prototype') {
    findings.error('operation_id_invalid', path, 'Rename the action.');
  } else if (actions.size === actionsMax) {
    findings.error('out_of_bounds', ['paths'], `Keep at most ${actionsMax} actions.`);
  } else {
    actions.set(action.key, action);
  }
}

/**
 * Checks that the compiled template is within the bounds of the contract. Other components parse
 * templates by the contract and would reject a larger one.
 */
function checkLimits(
  { findings }: Pick<CompileContext, 'findings'>,
  template: CompiledTemplate,
): void {
  if (Buffer.byteLength(JSON.stringify(template)) > compiledBytesMax) {
    const message =
      'The actions and schemas take more than 3 MB when unfolded. Keep only what you need.';
    findings.error('too_complex', [], message);
    return;
  }
  const parseResult = compiledTemplate.safeParse(template);
  for (const issue of parseResult.error?.issues ?? []) {
    const issuePath = issue.path.map(String).join('.');
    findings.error(
      'out_of_bounds',
      [],
      `The compiled template breaks a limit at ${issuePath}: ${issue.message}.`,
    );
  }
}
