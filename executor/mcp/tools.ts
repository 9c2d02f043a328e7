import { v7 as uuidv7 } from 'uuid';

import { discoveryLimits, statelessVersion, toolDefinition } from '#contracts/mcp';
import type { ToolDiscovery, ToolDefinition } from '#contracts/mcp';
import type { JsonValue } from '#contracts/vocabulary';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import { canonicalJson } from '#signing';
import { exchangeRpc, mcpViolationError } from './exchange.ts';
import type { McpServer, RpcAnswer } from './exchange.ts';
import { isObject } from './domain/message.ts';
import { createSessionMessage, createStatelessMessage } from '../request/domain/mcp-message.ts';
import { closeSession, openSession, requireResult, sessionHeadersOf } from './session.ts';
import type { McpSession } from './session.ts';

interface DiscoveryOptions {
  readonly server: McpServer;
  /** The milliseconds that are left for the whole discovery. */
  readonly timeoutMs: () => number;
}

type Result = ReturnType<typeof requireResult>;

/** The limit of one page in bytes. One page may be as large as all tools together. */
const pageBytesMax = 2 * discoveryLimits.bytes;

/**
 * Finds the protocol revision of an MCP server and lists its tools. Tries the revision without
 * sessions first.
 */
export async function discoverTools(
  egress: Egress,
  options: DiscoveryOptions,
): Promise<ToolDiscovery> {
  if (await isStateless(egress, options)) {
    const tools = await listTools(createPageLister(egress, { ...options, session: null }));
    return { protocolVersion: statelessVersion, tools };
  }
  const session = await openSession(egress, { ...options, version: statelessVersion });
  const tools = await listTools(createPageLister(egress, { ...options, session }));
  void closeSession(egress, { ...options, session });
  return { protocolVersion: session.protocolVersion, tools };
}

interface DiscoveryInSession extends DiscoveryOptions {
  /** Null for the revision without sessions. */
  readonly session: McpSession | null;
}

/** The tool with this name as the server describes it now; undefined when the server has none. */
export async function findTool(
  egress: Egress,
  options: DiscoveryInSession,
  name: string,
): Promise<ToolDefinition | undefined> {
  const tools = await listTools(createPageLister(egress, options));
  return tools.find((tool) => tool.name === name);
}

type ListToolsPage = (cursor: string | null) => Promise<Result>;

/**
 * The time limit of the first request. Some servers of older revisions do not answer a request that
 * comes before `initialize`.
 */
const probeTimeoutMs = 5_000;

/**
 * Whether the server uses the revision without sessions. Only this revision has the method
 * `server/discover`; a server that does not know the method uses an older revision.
 */
async function isStateless(egress: Egress, options: DiscoveryOptions): Promise<boolean> {
  let answer: RpcAnswer;
  try {
    answer = await exchangeRpc(egress, options.server, {
      ...createStatelessMessage('server/discover'),
      id: uuidv7(),
      timeoutMs: Math.min(probeTimeoutMs, options.timeoutMs()),
      maxBytes: pageBytesMax,
    });
  } catch (error) {
    if (AppError.from(error).code === 'upstream_timeout') return false;
    throw error;
  }
  if (answer.status === 401 || answer.status === 403) requireResult(answer);
  const supported = answer.message?.result?.['supportedVersions'];
  return Array.isArray(supported) && supported.includes(statelessVersion);
}

function createPageLister(
  egress: Egress,
  { server, timeoutMs, session }: DiscoveryInSession,
): ListToolsPage {
  return async (cursor) => {
    const params = cursor === null ? {} : { cursor };
    const message =
      session === null
        ? createStatelessMessage('tools/list', params)
        : createSessionMessage('tools/list', params);
    const headers = [...message.headers, ...(session === null ? [] : sessionHeadersOf(session))];
    const sendOptions = { id: uuidv7(), timeoutMs: timeoutMs(), maxBytes: pageBytesMax };
    return requireResult(
      await exchangeRpc(egress, server, { ...message, headers, ...sendOptions }),
    );
  };
}

async function listTools(listPage: ListToolsPage): Promise<ToolDefinition[]> {
  const toolsByName = new Map<string, ToolDefinition>();
  let cursor: string | null = null;
  let bytes = 0;
  for (let page = 0; page < discoveryLimits.pages; page += 1) {
    const result: Result = await listPage(cursor);
    const { tools, nextCursor } = result;
    if (!Array.isArray(tools)) throw mcpViolationError('The MCP server gave no list of its tools.');
    for (const tool of tools) {
      const definition = definitionOf(tool);
      if (definition === undefined || toolsByName.has(definition.name)) continue;
      bytes += Buffer.byteLength(JSON.stringify(definition));
      toolsByName.set(definition.name, definition);
    }
    if (toolsByName.size > discoveryLimits.tools || bytes > discoveryLimits.bytes) {
      throw tooManyToolsError(
        `offers more than ${discoveryLimits.tools} tools, or too much text about them`,
      );
    }
    if (typeof nextCursor !== 'string' || nextCursor === cursor) return [...toolsByName.values()];
    cursor = nextCursor;
  }
  throw tooManyToolsError(`lists its tools on more than ${discoveryLimits.pages} pages`);
}

/** The fields of a tool that the gateway reads. Others (icons, metadata) are dropped. */
function definitionOf(tool: JsonValue): ToolDefinition | undefined {
  if (!isObject(tool)) return undefined;
  const knownFields = Object.keys(toolDefinition.shape).flatMap((key) => {
    const value = Object.hasOwn(tool, key) ? tool[key] : undefined;
    return value === undefined ? [] : [[key, value] as const];
  });
  const parseResult = toolDefinition.safeParse(Object.fromEntries(knownFields));
  if (!parseResult.success || parseResult.data.name === '') return undefined;
  const definition = parseResult.data;
  // Of a definition that is nested too deeply for the gateway, only the name is kept. A tool
  // without a schema cannot be called.
  return isWithinLimits(definition) ? definition : { name: definition.name, inputSchema: null };
}

function isWithinLimits(definition: ToolDefinition): boolean {
  try {
    canonicalJson(definition);
    return true;
  } catch {
    return false;
  }
}

function tooManyToolsError(excess: string): AppError {
  return new AppError('response_too_large', `The MCP server ${excess}.`);
}
