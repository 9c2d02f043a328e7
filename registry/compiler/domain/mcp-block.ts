import type { ToolOverride } from '#contracts/mcp';
import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { compileDisclose } from './disclosure.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { parseEndpoint } from './mcp-url.ts';
import { readScopeForm } from './read-scope.ts';
import {
  entryNodesOf,
  readFlag,
  readList,
  readObject,
  readText,
} from '../../document/domain/reading.ts';

type McpServer = Pick<CompiledTemplate, 'server' | 'hosts' | 'auth' | 'security' | 'mcp'>;

const authKinds = ['none', 'bearer', 'oauth'] as const;
const risks = ['read', 'write', 'delete'] as const;
const secretNamePattern = /^[a-z][a-z0-9_-]{0,62}$/;
const overridesMax = 500;
/**
 * The template fields that describe an HTTP API. They would have no effect on an MCP server, so a
 * template for one must not have them.
 */
const httpOnlyFields = [
  'servers',
  'paths',
  'components',
  'security',
  'x-service-failure',
  'x-service-also-at',
];

/**
 * Compiles the `mcp` block: the URL of the server and the credential for its calls. The tools are
 * not in the template: the gateway asks the server for its tools when a service is connected. The
 * block may override properties of single tools, which take effect when the tools are known
 * (docs/writing-templates.md#mcp-servers).
 */
export function compileMcpBlock(
  context: CompileContext,
  document: DocumentNode<JsonObject>,
): McpServer | undefined {
  for (const key of httpOnlyFields) {
    if (!(key in document.value)) continue;
    const message = `"${key}" has no meaning for the runtime "mcp". Remove it.`;
    context.findings.error('mcp_unexpected', [key], message);
  }
  const node = readObject(context, document, 'x-service-mcp');
  if (node === undefined) {
    if (!('x-service-mcp' in document.value)) {
      const message = 'Add "mcp" with the "url" of the server and "auth".';
      context.findings.error('required_field_missing', [], message);
    }
    return undefined;
  }
  checkFields(context, node, 'mcp block');
  checkTransport(context, node);
  const address = compileUrl(context, node);
  const auth = compileAuth(context, node);
  const autodiscover = readFlag(context, node, 'autodiscover') ?? true;
  const overrides = compileOverrides(context, node);
  if (address === undefined || auth === undefined) return undefined;
  const { origin, host, path } = address;
  return {
    server: { url: origin, variables: [], baseUrlAllowed: false },
    hosts: [host],
    auth,
    security: auth.map(({ scheme }) => [scheme]),
    mcp: { path, autodiscover, overrides, protocolVersion: null, pins: {} },
  };
}

function checkTransport(
  { findings }: CompileContext,
  { value, path }: DocumentNode<JsonObject>,
): void {
  const { transport } = value;
  if (transport === undefined || transport === 'streamable-http') return;
  const message = '"transport" must be streamable-http; servers on stdio or SSE cannot be reached.';
  findings.error('mcp_invalid', [...path, 'transport'], message);
}

function compileUrl(context: CompileContext, node: DocumentNode<JsonObject>) {
  const text = readText(context, node, { key: 'url', max: 2000, required: true });
  if (text === undefined) return undefined;
  const endpoint = parseEndpoint(text, context.options.isPlainHttpAllowed);
  if (typeof endpoint !== 'string') return endpoint;
  const code = text.startsWith('http://') ? 'server_not_https' : 'server_invalid';
  context.findings.error(code, [...node.path, 'url'], endpoint);
  return undefined;
}

/**
 * Compiles `auth`: with `bearer` calls send a secret in the Authorization header, with `oauth` the
 * access token of a connection to the provider.
 */
function compileAuth(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): AuthMethod[] | undefined {
  const { findings } = context;
  const auth = authKinds.find((each) => each === node.value['auth']);
  if (auth === undefined) {
    const message = '"auth" must be none, bearer or oauth.';
    findings.error(
      'mcp_invalid',
      'auth' in node.value ? [...node.path, 'auth'] : node.path,
      message,
    );
    return undefined;
  }
  for (const [key, owner] of [
    ['secret', 'bearer'],
    ['provider', 'oauth'],
  ] as const) {
    if (!(key in node.value) || auth === owner) continue;
    const message = `"${key}" goes with auth: ${owner}. Remove it, or change "auth".`;
    findings.error('mcp_invalid', [...node.path, key], message);
  }
  if (auth === 'none') return [];
  const key = auth === 'bearer' ? 'secret' : 'provider';
  const text = readText(context, node, { key, max: 63, required: true });
  if (text === undefined) return undefined;
  if (!secretNamePattern.test(text)) {
    const message = `"${key}" is a name: lower-case letters, digits, "_" and "-", a letter first.`;
    findings.error('mcp_invalid', [...node.path, key], message);
    return undefined;
  }
  if (auth === 'oauth') {
    // The URLs stay empty: the registration of the provider with the gateway has them, and a
    // template must not decide where people sign in.
    const urls = { authorizationUrl: '', tokenUrl: '' };
    return [{ type: 'oauth2', scheme: 'oauth', provider: text, ...urls, scopes: [] }];
  }
  const authNode = {
    in: 'header',
    name: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw',
  } as const;
  return [{ type: 'apiKey', scheme: 'bearer', ...authNode, defaultSecretName: text }];
}

function compileOverrides(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): Record<string, ToolOverride> {
  const tools = readObject(context, node, 'tools');
  const entries = tools === undefined ? [] : entryNodesOf(tools);
  if (entries.length > overridesMax) {
    const message = `Say something of at most ${overridesMax} tools.`;
    context.findings.error('out_of_bounds', [...node.path, 'tools'], message);
    return {};
  }
  const overrides = entries.flatMap(([tool, place]) => {
    if (!isObject(place.value)) {
      const message = 'Write {risk?, scope_param?, disclose?, redact?, disabled?} here.';
      context.findings.error('wrong_type', place.path, message);
      return [];
    }
    const overrideNode = { value: place.value, path: place.path };
    checkFields(context, overrideNode, 'tool');
    return [[tool.slice(0, 128), compileOverride(context, overrideNode)] as const];
  });
  return Object.fromEntries(overrides);
}

function compileOverride(context: CompileContext, node: DocumentNode<JsonObject>): ToolOverride {
  const givenRisk = node.value['x-service-risk'];
  const risk = risks.find((each) => each === givenRisk) ?? null;
  if (givenRisk !== undefined && risk === null) {
    const message = '"risk" must be read, write or delete.';
    context.findings.error('risk_invalid', [...node.path, 'x-service-risk'], message);
  }
  return {
    risk,
    scopeParam: readScopeForm(context, node) ?? null,
    disclose: compileDisclose(context, node),
    redact: readRedacted(context, node),
    disabled: readFlag(context, node, 'x-service-disabled') ?? false,
  };
}

/**
 * Reads the paths to redact. An argument of a tool appears both in the params and in the body of a
 * call, so authors may write `params.x` or `body.x`.
 */
function readRedacted(context: CompileContext, node: DocumentNode<JsonObject>): string[] {
  return readList(context, node, { key: 'x-service-redact', max: 50 }).flatMap(
    ({ value, path }) => {
      const isRedactPath =
        typeof value === 'string' && /^(?:params|body)(?:\.[^.\s]+)+$/.test(value);
      if (isRedactPath && value.length <= 490) return [value];
      const message = 'Write a dotted path that starts with params, such as params.token.';
      context.findings.error('redact_invalid', path, message);
      return [];
    },
  );
}
