import type { ToolOverride } from '#contracts/mcp';
import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { compileDisclose } from './disclosure.ts';
import { checkFields } from './fields.ts';
import { parseEndpoint } from './mcp-url.ts';
import { entriesOf, readFlag, readList, readObject, readText } from './reading.ts';

type McpServer = Pick<CompiledTemplate, 'server' | 'hosts' | 'auth' | 'security' | 'mcp'>;

const auths = ['none', 'bearer', 'oauth'] as const;
const risks = ['read', 'write', 'delete'] as const;
const name = /^[a-z][a-z0-9_-]{0,62}$/;
const overridesMax = 500;
/** What describes an API of HTTP says nothing about an MCP server, and would be without effect. */
const httpOnly = ['servers', 'paths', 'components', 'security'];

/**
 * Compiles the `mcp` block: where the server is and which credential opens it. Its tools are not
 * known here; what the block says of single tools is kept until they are
 * (docs/writing-templates.md#mcp-servers).
 */
export function compileMcpBlock(
  context: Context,
  document: Place<JsonObject>,
): McpServer | undefined {
  for (const key of httpOnly) {
    if (!(key in document.value)) continue;
    const message = `"${key}" has no meaning for the runtime "mcp". Remove it.`;
    context.findings.error('mcp_unexpected', [key], message);
  }
  const at = readObject(context, document, 'x-service-mcp');
  if (at === undefined) {
    if (!('x-service-mcp' in document.value)) {
      const message = 'Add "mcp" with the "url" of the server and "auth".';
      context.findings.error('required_field_missing', [], message);
    }
    return undefined;
  }
  checkFields(context, at, 'mcp block');
  checkTransport(context, at);
  const address = compileUrl(context, at);
  const auth = compileAuth(context, at);
  const autodiscover = readFlag(context, at, 'autodiscover') ?? true;
  const overrides = compileOverrides(context, at);
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

function checkTransport({ findings }: Context, { value, path }: Place<JsonObject>): void {
  const { transport } = value;
  if (transport === undefined || transport === 'streamable-http') return;
  const message = '"transport" must be streamable-http; servers on stdio or SSE cannot be reached.';
  findings.error('mcp_invalid', [...path, 'transport'], message);
}

function compileUrl(context: Context, at: Place<JsonObject>) {
  const text = readText(context, at, { key: 'url', max: 2000, required: true });
  if (text === undefined) return undefined;
  const endpoint = parseEndpoint(text, context.options.isPlainHttpAllowed);
  if (typeof endpoint !== 'string') return endpoint;
  const code = text.startsWith('http://') ? 'server_not_https' : 'server_invalid';
  context.findings.error(code, [...at.path, 'url'], endpoint);
  return undefined;
}

/** `bearer`: a secret in the Authorization header. `oauth`: a connection of the provider there. */
function compileAuth(context: Context, at: Place<JsonObject>): AuthMethod[] | undefined {
  const { findings } = context;
  const auth = auths.find((each) => each === at.value['auth']);
  if (auth === undefined) {
    const message = '"auth" must be none, bearer or oauth.';
    findings.error('mcp_invalid', 'auth' in at.value ? [...at.path, 'auth'] : at.path, message);
    return undefined;
  }
  for (const [key, owner] of [
    ['secret', 'bearer'],
    ['provider', 'oauth'],
  ] as const) {
    if (!(key in at.value) || auth === owner) continue;
    const message = `"${key}" goes with auth: ${owner}. Remove it, or change "auth".`;
    findings.error('mcp_invalid', [...at.path, key], message);
  }
  if (auth === 'none') return [];
  const key = auth === 'bearer' ? 'secret' : 'provider';
  const text = readText(context, at, { key, max: 63, required: true });
  if (text === undefined) return undefined;
  if (!name.test(text)) {
    const message = `"${key}" is a name: lower-case letters, digits, "_" and "-", a letter first.`;
    findings.error('mcp_invalid', [...at.path, key], message);
    return undefined;
  }
  if (auth === 'oauth') {
    // Whoever registered the provider's app decides where people are sent, not this document.
    const urls = { authorizationUrl: '', tokenUrl: '' };
    return [{ type: 'oauth2', scheme: 'oauth', provider: text, ...urls, scopes: [] }];
  }
  const place = {
    in: 'header',
    name: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw',
  } as const;
  return [{ type: 'apiKey', scheme: 'bearer', ...place, defaultSecretName: text }];
}

function compileOverrides(context: Context, at: Place<JsonObject>): Record<string, ToolOverride> {
  const tools = readObject(context, at, 'tools');
  const entries = tools === undefined ? [] : entriesOf(tools);
  if (entries.length > overridesMax) {
    const message = `Say something of at most ${overridesMax} tools.`;
    context.findings.error('out_of_bounds', [...at.path, 'tools'], message);
    return {};
  }
  const overrides = entries.flatMap(([tool, place]) => {
    if (!isObject(place.value)) {
      const message = 'Write {risk?, scope_param?, disclose?, redact?, disabled?} here.';
      context.findings.error('wrong_type', place.path, message);
      return [];
    }
    const entry = { value: place.value, path: place.path };
    checkFields(context, entry, 'tool');
    return [[tool.slice(0, 128), compileOverride(context, entry)] as const];
  });
  return Object.fromEntries(overrides);
}

function compileOverride(context: Context, at: Place<JsonObject>): ToolOverride {
  const given = at.value['x-service-risk'];
  const risk = risks.find((each) => each === given) ?? null;
  if (given !== undefined && risk === null) {
    const message = '"risk" must be read, write or delete.';
    context.findings.error('risk_invalid', [...at.path, 'x-service-risk'], message);
  }
  return {
    risk,
    scopeParam: readText(context, at, { key: 'x-service-scope-param', max: 200 }) ?? null,
    disclose: compileDisclose(context, at),
    redact: readRedacted(context, at),
    disabled: readFlag(context, at, 'x-service-disabled') ?? false,
  };
}

/** The arguments are the params and the body of a call alike, so one spelling is enough. */
function readRedacted(context: Context, at: Place<JsonObject>): string[] {
  return readList(context, at, { key: 'x-service-redact', max: 50 }).flatMap(({ value, path }) => {
    const isPath = typeof value === 'string' && /^(?:params|body)(?:\.[^.\s]+)+$/.test(value);
    if (isPath && value.length <= 490) return [value];
    const message = 'Write a dotted path that starts with params, such as params.token.';
    context.findings.error('redact_invalid', path, message);
    return [];
  });
}
