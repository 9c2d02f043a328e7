import { compiledTemplate } from '#contracts/template';
import type { AuthMethod, CompiledAction, CompiledTemplate } from '#contracts/template';
import { reservedNames } from '#contracts/vocabulary';
import type { HttpMethod } from '#contracts/vocabulary';
import { compileAction } from './action.ts';
import { isObject } from './context.ts';
import type { CompileOptions, Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { createFindings, pointerTo } from './findings.ts';
import type { Findings, Report } from './findings.ts';
import { normalise } from './normalise.ts';
import { checkPath } from './paths.ts';
import { entriesOf, readObject, readText } from './reading.ts';
import { schemaNodesMax } from './schema.ts';
import { compileMcpBlock } from './mcp-block.ts';
import { compileSecuritySchemes, readRequirements } from './security.ts';
import { compileServers } from './servers.ts';
import { parseSource } from './source.ts';

export type { CompileOptions } from './context.ts';

export interface CompileResult {
  readonly report: Report;
  /** The document with canonical extension names; undefined when it could not be read. */
  readonly document: JsonObject | undefined;
  /** Present exactly when the report has no errors. */
  readonly template: CompiledTemplate | undefined;
}

const templateKey = /^[a-z][a-z0-9_-]{0,62}$/;
/** What stands there in addresses: /v1/templates/validate. */
const addressNames = ['validate', 'import', 'uploads'];
const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const;
export const actionsMax = 1_000;
/** It crosses the bus in one message, whose limit is 4 MiB. */
export const compiledBytesMax = 3_000_000;

/** Reads, checks and compiles a template document, reporting everything that is wrong with it. */
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
 * The same for a document that is data already: an imported one. Its findings have no lines.
 * Documents that are compiled after one another and share schemas may share `judged`.
 */
export function compileParsed(
  value: JsonObject,
  options: CompileOptions & Partial<Pick<Context, 'judged'>>,
): CompileResult {
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  return compileValue(value, findings, options);
}

function compileValue(
  value: JsonObject,
  findings: Findings,
  { judged = new Map(), ...options }: CompileOptions & Partial<Pick<Context, 'judged'>>,
): CompileResult {
  const document = normalise(value, findings) as JsonObject;
  const budget = { schemaNodes: schemaNodesMax };
  const compiled = compileDocument({ document, findings, options, budget, judged });
  if (compiled && findings.report().valid) checkLimits({ findings }, compiled);
  const report = findings.report();
  return { report, document, template: report.valid ? compiled : undefined };
}

function compileDocument(context: Context): CompiledTemplate | undefined {
  const at: Place<JsonObject> = { value: context.document, path: [] };
  checkFields(context, at, 'document');
  checkVersion(context);
  checkRuntime(context);
  const info = compileInfo(context, at);
  if (context.document['x-service-runtime'] === 'mcp') {
    const server = compileMcpBlock(context, at);
    return (
      info && server && { ...info, ...server, ...ownerOf(context), runtime: 'mcp', actions: {} }
    );
  }
  const servers = compileServers(context, at);
  const auth = compileSecuritySchemes(context, at);
  const security = compileSecurity(context, at, auth);
  const actions = compilePaths(context, at, auth);
  if (info === undefined || servers === undefined) return undefined;
  return { ...info, ...servers, ...ownerOf(context), runtime: 'http', auth, security, actions };
}

function ownerOf({ options: { tier, ownerId, version } }: Context) {
  return { tier, ownerId, version };
}

function checkVersion({ document, findings }: Context): void {
  if (document['openapi'] === '3.1.0') return;
  const path = 'openapi' in document ? ['openapi'] : [];
  findings.error(
    'openapi_version',
    path,
    'Set "openapi" to "3.1.0"; other versions can be imported, not loaded.',
  );
}

function checkRuntime({ document, findings }: Context): void {
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

function compileInfo(context: Context, document: Place<JsonObject>): Info | undefined {
  const { findings, options } = context;
  const at = readObject(context, document, 'info');
  if (at === undefined) {
    if (!('info' in document.value)) {
      findings.error('required_field_missing', [], 'Add "info" with a title and a key.');
    }
    return undefined;
  }
  checkFields(context, at, 'info');
  const title = readText(context, at, { key: 'title', max: 200, required: true });
  const key = readText(context, at, { key: 'x-service-key', max: 63, required: true });
  const description = readText(context, at, { key: 'description', max: 2000 }) ?? '';
  const category = readText(context, at, { key: 'x-service-category', max: 100 }) ?? '';
  if (key === undefined || title === undefined) return undefined;
  const path = [...at.path, 'x-service-key'];
  // A built-in file may take the place of the service `http` (docs/reference/templates.md#raw-http).
  const mayBeHttp = key === 'http' && options.tier === 'global';
  const isReserved = [...reservedNames, ...addressNames].includes(key) && !mayBeHttp;
  if (!templateKey.test(key)) {
    const message =
      'A key starts with a letter and holds only lower-case letters, digits, "_" and "-", at most 63.';
    findings.error('key_invalid', path, message);
  } else if (isReserved) {
    findings.error('key_invalid', path, `"${key}" is a reserved name. Choose another key.`);
  }
  return { key, title, description, category };
}

/** Without `security`, each scheme of the document is one way in (docs/reference/templates.md#services). */
function compileSecurity(
  context: Context,
  at: Place<JsonObject>,
  auth: readonly AuthMethod[],
): string[][] {
  const requirements = readRequirements(context, at, auth);
  if (requirements === null) return auth.map(({ scheme }) => [scheme]);
  return requirements.map(({ schemes }) => schemes);
}

function compilePaths(
  context: Context,
  document: Place<JsonObject>,
  authMethods: readonly AuthMethod[],
): Record<string, CompiledAction> {
  const paths = readObject(context, document, 'paths');
  const actions = new Map<string, CompiledAction>();
  const shapes = new Map<string, string>();
  for (const [path, item] of paths ? entriesOf(paths) : []) {
    if (path.startsWith('x-')) continue;
    const pathItem = readPathItem(context, item);
    // What follows a "#" only tells operations apart that share path and method; it is never sent.
    const [sent = ''] = path.split('#');
    if (pathItem === undefined || !checkPath(context, { value: sent, path: item.path })) continue;
    for (const method of methods) {
      const operation = readObject(context, pathItem, method);
      if (operation === undefined) continue;
      reportTwin(context, { path, item, method }, shapes);
      const action = compileAction(context, {
        method: method.toUpperCase() as HttpMethod,
        path: { value: sent, path: item.path },
        pathItem,
        operation,
        authMethods,
      });
      if (action) addAction(context, actions, { action, operation });
    }
  }
  return Object.fromEntries(actions);
}

function readPathItem(context: Context, item: Place): Place<JsonObject> | undefined {
  const { findings } = context;
  if (!isObject(item.value)) {
    findings.error('wrong_type', item.path, 'A path must be an object with one entry per method.');
    return undefined;
  }
  checkFields(context, item, 'path');
  for (const key of ['$ref', 'servers', 'trace']) {
    if (!(key in item.value)) continue;
    const message = `"${key}" is not supported in a path. Remove it.`;
    findings.error('unsupported', [...item.path, key], message);
  }
  return { value: item.value, path: item.path };
}

/** `/issues/{id}` and `/issues/{number}` are the same path (OpenAPI §4.8.8.1); nobody could tell their operations apart. */
function reportTwin(
  context: Context,
  { path, item, method }: { path: string; item: Place; method: string },
  shapes: Map<string, string>,
): void {
  const shape = `${method} ${path.replaceAll(/\{[^{}]*\}/g, '{}')}`;
  const twin = shapes.get(shape);
  if (twin !== undefined) {
    const message = `This is the same path as ${twin}. Put the operations of both into one.`;
    context.findings.error('path_duplicate', item.path, message);
  }
  shapes.set(shape, path);
}

function addAction(
  { findings }: Context,
  actions: Map<string, CompiledAction>,
  { action, operation }: { action: CompiledAction; operation: Place<JsonObject> },
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

/** The contract's own bounds, as a last check: what leaves the registry must parse elsewhere. */
function checkLimits({ findings }: Pick<Context, 'findings'>, template: CompiledTemplate): void {
  if (Buffer.byteLength(JSON.stringify(template)) > compiledBytesMax) {
    const message =
      'The actions and schemas take more than 3 MB when unfolded. Keep only what you need.';
    findings.error('too_complex', [], message);
    return;
  }
  const parsed = compiledTemplate.safeParse(template);
  for (const issue of parsed.error?.issues ?? []) {
    const where = issue.path.map(String).join('.');
    findings.error(
      'out_of_bounds',
      [],
      `The compiled template breaks a limit at ${where}: ${issue.message}.`,
    );
  }
}
