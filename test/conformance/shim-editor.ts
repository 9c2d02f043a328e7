import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

export interface Tool {
  readonly name: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, { type?: string }>> };
}

/** An MCP client that talks to a program over stdio. */
export interface Editor extends AsyncDisposable {
  readonly listTools: () => Promise<readonly Tool[]>;
  readonly callTool: (name: string, args: Record<string, unknown>) => Promise<unknown>;
}

export interface ShimError extends Error {
  readonly data?: {
    readonly status?: number;
    readonly error?: string;
    readonly scope?: string;
    readonly supported?: readonly string[];
  };
}

export interface EditorOptions {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  /** The MCP revision that the connection uses. */
  readonly version: string;
}

const clientInfo = { name: 'conformance-editor', version: '1.0.0' };

/**
 * Connects to the program with MCP revisions up to 2025-11-25, through the SDK that most editors
 * use.
 */
export async function connectStateful({ command, args, env }: EditorOptions): Promise<Editor> {
  const client = new Client(clientInfo, {
    capabilities: { elicitation: { form: { applyDefaults: true } } },
  });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }));
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'inherit' }));
  return {
    listTools: async () => (await client.listTools()).tools as readonly Tool[],
    callTool: (name, parameters) => client.callTool({ name, arguments: parameters }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

interface InputRequiredAnswer {
  readonly resultType?: string;
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
}

/**
 * Connects to the program with MCP revision 2026-07-28. Writes each JSON-RPC message itself,
 * because the 1.x SDK does not support this revision.
 */
export async function connectStateless(options: EditorOptions): Promise<Editor> {
  const { command, args, env, version } = options;
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const waitingRequests = new Map<number, PromiseWithResolvers<unknown>>();
  const answerLines = createInterface(child.stdout);
  answerLines.on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as {
      id?: number;
      result?: unknown;
      error?: { message: string; data?: unknown };
    };
    const waiter = waitingRequests.get(id ?? 0);
    if (error) waiter?.reject(Object.assign(new Error(error.message), { data: error.data }));
    else waiter?.resolve(result);
  });
  answerLines.once('close', () => {
    for (const { reject } of waitingRequests.values()) reject(new Error('the shim has ended'));
  });
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  let lastId = 0;
  const request = (method: string, params: Record<string, unknown> = {}) => {
    const id = ++lastId;
    const waiter = Promise.withResolvers<unknown>();
    waitingRequests.set(id, waiter);
    const frame = { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
    child.stdin.write(`${JSON.stringify(frame)}\n`);
    return waiter.promise;
  };
  return {
    listTools: async () => ((await request('tools/list')) as { tools: readonly Tool[] }).tools,
    callTool: async (name, parameters) => {
      const call = { name, arguments: parameters };
      const result = (await request('tools/call', call)) as InputRequiredAnswer;
      if (result.resultType !== 'input_required') return result;
      const inputKeys = Object.keys(result.inputRequests ?? {});
      const acceptedAnswer = { action: 'accept', content: { confirmed: true } };
      return request('tools/call', {
        ...call,
        inputResponses: Object.fromEntries(inputKeys.map((key) => [key, acceptedAnswer])),
        ...(result.requestState !== undefined && { requestState: result.requestState }),
      });
    },
    [Symbol.asyncDispose]: async () => {
      const exit = once(child, 'exit');
      child.stdin.end();
      await exit;
    },
  };
}
