import { v7 as uuidv7 } from 'uuid';

import { discoveryLimits, statelessVersion, toolDefinition } from '#contracts/mcp';
import type { Discovered, ToolDefinition } from '#contracts/mcp';
import type { JsonValue } from '#contracts/vocabulary';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import { canonicalJson } from '#signing';
import { exchangeRpc, notMcp } from './exchange.ts';
import type { McpServer, RpcAnswer } from './exchange.ts';
import { isObject } from './message.ts';
import { sessionMessage, statelessMessage } from './protocol.ts';
import { closeSession, openSession, requireResult, sessionHeaders } from './session.ts';
import type { McpSession } from './session.ts';

interface Asking {
  readonly server: McpServer;
  /** What is left for everything. */
  readonly timeoutMs: () => number;
}

type Result = ReturnType<typeof requireResult>;

/** One page of answers may hold all that is taken in all. */
const pageBytesMax = 2 * discoveryLimits.bytes;

/** Finds out which era a server is of, and lists its tools: the era without sessions is asked for first. */
export async function discoverTools(egress: Egress, asking: Asking): Promise<Discovered> {
  if (await isStateless(egress, asking)) {
    const tools = await listTools(createList(egress, { ...asking, session: null }));
    return { protocolVersion: statelessVersion, tools };
  }
  const session = await openSession(egress, { ...asking, version: statelessVersion });
  const tools = await listTools(createList(egress, { ...asking, session }));
  void closeSession(egress, { ...asking, session });
  return { protocolVersion: session.protocolVersion, tools };
}

interface AskingIn extends Asking {
  /** Null in the era without sessions. */
  readonly session: McpSession | null;
}

/** One tool as the server describes it at this moment; undefined when it is not there. */
export async function findTool(
  egress: Egress,
  asking: AskingIn,
  name: string,
): Promise<ToolDefinition | undefined> {
  const tools = await listTools(createList(egress, asking));
  return tools.find((tool) => tool.name === name);
}

type List = (cursor: string | null) => Promise<Result>;

/** Some older servers leave unanswered what comes before `initialize`. */
const probeMs = 5_000;

/** `server/discover` exists in that era alone; what an older server makes of it is no error. */
async function isStateless(egress: Egress, asking: Asking): Promise<boolean> {
  let answer: RpcAnswer;
  try {
    answer = await exchangeRpc(egress, asking.server, {
      ...statelessMessage('server/discover'),
      id: uuidv7(),
      timeoutMs: Math.min(probeMs, asking.timeoutMs()),
      maxBytes: pageBytesMax,
    });
  } catch (thrown) {
    if (AppError.from(thrown).code === 'upstream_timeout') return false;
    throw thrown;
  }
  if (answer.status === 401 || answer.status === 403) requireResult(answer);
  const supported = answer.message?.result?.['supportedVersions'];
  return Array.isArray(supported) && supported.includes(statelessVersion);
}

function createList(egress: Egress, { server, timeoutMs, session }: AskingIn): List {
  return async (cursor) => {
    const params = cursor === null ? {} : { cursor };
    const message =
      session === null
        ? statelessMessage('tools/list', params)
        : sessionMessage('tools/list', params);
    const headers = [...message.headers, ...(session === null ? [] : sessionHeaders(session))];
    const sending = { id: uuidv7(), timeoutMs: timeoutMs(), maxBytes: pageBytesMax };
    return requireResult(await exchangeRpc(egress, server, { ...message, headers, ...sending }));
  };
}

async function listTools(list: List): Promise<ToolDefinition[]> {
  const byName = new Map<string, ToolDefinition>();
  let cursor: string | null = null;
  let bytes = 0;
  for (let page = 0; page < discoveryLimits.pages; page += 1) {
    const result: Result = await list(cursor);
    const { tools, nextCursor } = result;
    if (!Array.isArray(tools)) throw notMcp('The MCP server gave no list of its tools.');
    for (const tool of tools) {
      const definition = definitionOf(tool);
      if (definition === undefined || byName.has(definition.name)) continue;
      bytes += Buffer.byteLength(JSON.stringify(definition));
      byName.set(definition.name, definition);
    }
    if (byName.size > discoveryLimits.tools || bytes > discoveryLimits.bytes) {
      throw tooMuch(`offers more than ${discoveryLimits.tools} tools, or too much text about them`);
    }
    if (typeof nextCursor !== 'string' || nextCursor === cursor) return [...byName.values()];
    cursor = nextCursor;
  }
  throw tooMuch(`lists its tools on more than ${discoveryLimits.pages} pages`);
}

/** What is read or acted on; the rest (icons, metadata) is nobody's business here. */
function definitionOf(tool: JsonValue): ToolDefinition | undefined {
  if (!isObject(tool)) return undefined;
  const known = Object.keys(toolDefinition.shape).flatMap((key) => {
    const value = Object.hasOwn(tool, key) ? tool[key] : undefined;
    return value === undefined ? [] : [[key, value] as const];
  });
  const parsed = toolDefinition.safeParse(Object.fromEntries(known));
  if (!parsed.success || parsed.data.name === '') return undefined;
  const definition = parsed.data;
  // Deeper than anything is read or compared here: nothing but its name is kept, which makes it unusable.
  return isReadable(definition) ? definition : { name: definition.name, inputSchema: null };
}

function isReadable(definition: ToolDefinition): boolean {
  try {
    canonicalJson(definition);
    return true;
  } catch {
    return false;
  }
}

function tooMuch(what: string): AppError {
  return new AppError('response_too_large', `The MCP server ${what}.`);
}
