import {
  CLIENT_CAPABILITIES_META_KEY,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  UrlElicitationRequiredError,
  inputRequired,
} from '@modelcontextprotocol/server';
import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';

import type { StoredFile } from '#contracts/call';
import { id as uuid } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { validate } from '../input/domain/validate.ts';
import { toEnvelope } from '../http/error-handler.ts';
import { nextAfterError } from '../next/domain/next-step.ts';
import { describeToolCall, recordRefusal } from '../records/record-refusal.ts';
import type { Person } from '../mcp-tools/person.ts';
import { sessionVersions } from './session-id.ts';
import type {
  AuthorizationPage,
  PersonPage,
  Structured,
  Tool,
  ToolAnswer,
  ToolCall,
} from '../mcp-tools/tool.ts';
import { mayApproveSelf, serviceApproveSelf } from '../mcp-tools/service-approve.ts';
import { tools } from '../mcp-tools/tools.ts';

/** One MCP request, with or without a session. */
export interface McpRequest extends Omit<ToolCall, 'signal' | 'person'> {
  /**
   * Whether the request uses the stateless revision. There each request contains the client's
   * capabilities.
   */
  readonly isStateless: boolean;
  /** Whether the client said at `initialize` that it can open URLs for its user. */
  readonly opensUrls: boolean;
}

const serverInfo = {
  name: 'agent-action-gateway',
  title: 'Agent Action Gateway',
  version: '1.0.0',
};
const instructions =
  'Acts on the services of a user, with their credentials and under their rules. Find actions with service_search; call them with service_read (reads) or service_call. A result with status pending_approval waits for a person: show them approval_url, then call service_call with approval_id alone.';

/** The key under which the repeated call contains the user's answer. */
const personKey = 'approval';
const authorizationKey = 'authorization';

/** All servers share this validator, because creating a validator compiles schemas. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/**
 * Creates the protocol server for one request. This takes microseconds, and nothing is kept between
 * requests.
 */
export function createProtocolServer(request: McpRequest): Server {
  const { server } = new McpServer(serverInfo, {
    capabilities: { tools: { listChanged: true } },
    instructions,
    jsonSchemaValidator,
    supportedProtocolVersions: [...sessionVersions],
  });

  server.setRequestHandler('tools/list', async () => {
    const listedTools = (await mayApproveSelf(request))
      ? tools
      : tools.filter((tool) => tool !== serviceApproveSelf);
    return { tools: listedTools.map(describeTool) };
  });

  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool ${JSON.stringify(params.name)}; tools/list names them.`,
      );
    }
    const call = {
      ...request,
      signal: context.mcpReq.signal,
      person: personOf(request, { context, server }),
    };
    return runTool(tool, { given: params.arguments ?? {}, call });
  });
  return server;
}

function describeTool(tool: Tool) {
  const { name, title, description, annotations } = tool;
  const inputSchema = tool.inputSchema as { type: 'object' };
  const outputSchema = tool.outputSchema as { type: 'object' };
  return { name, title, description, annotations, inputSchema, outputSchema };
}

async function runTool(
  tool: Tool,
  { given, call }: { given: Structured; call: ToolCall },
): Promise<CallToolResult | InputRequiredResult> {
  try {
    tool.refuse?.(given);
    return presentAnswer(
      call.person,
      await tool.run(validate(tool.input, given, 'arguments') as never, call),
    );
  } catch (thrown) {
    if (thrown instanceof UrlElicitationRequiredError) throw thrown;
    const error = toToolError(
      await recordToolRefusal(AppError.from(thrown), { tool, given, call }),
    );
    const { requestId } = call.context;
    call.deps.accessLog.note(requestId, error.code);
    if (error.code === 'internal') {
      call.deps.logger.error(
        { err: error.cause ?? error, requestId, tool: tool.name },
        'tool failed',
      );
    }
    const next = nextAfterError(error)?.toolCall;
    return { ...toContent(toEnvelope(error, requestId, next)), isError: true };
  }
}

/**
 * Records the refusal. Returns the error to answer with: the given error or, if recording fails,
 * the error from recording.
 */
async function recordToolRefusal(
  error: AppError,
  { tool, given, call }: { tool: Tool; given: Structured; call: ToolCall },
): Promise<AppError> {
  const action = describeToolCall(tool, given);
  if (action === null) return error;
  try {
    await recordRefusal(call.deps.refusals, { action, requester: call, error });
    return error;
  } catch (recordingError) {
    return AppError.from(recordingError);
  }
}

/**
 * Wrong arguments become a tool result with `invalid_params` instead of a protocol error, so that
 * the model sees what to correct.
 */
function toToolError(error: AppError): AppError {
  if (error.code !== 'invalid_request') return error;
  return new AppError('invalid_params', error.message, { details: error.details, cause: error });
}

function presentAnswer(
  person: Person | null,
  answer: ToolAnswer,
): CallToolResult | InputRequiredResult {
  if (answer.kind === 'result') {
    const { structuredContent, content } = toContent(answer.structured);
    const links = answer.files.map(toResourceLink);
    const callResult = { structuredContent, content: [...content, ...links] };
    return answer.isError ? { ...callResult, isError: true } : callResult;
  }
  if (answer.kind === 'authorize') return presentAuthorization(person, answer.page);
  const { approvalId, url, message }: PersonPage = answer.page;
  return inputRequired({
    inputRequests: { [personKey]: inputRequired.elicitUrl({ url, message }) },
    // The approval id is no secret, because only its requester can resume it.
    requestState: approvalId,
  });
}

/** Tells the client to send its user to a page and then to repeat the call. */
function presentAuthorization(
  person: Person | null,
  { id, url, message }: AuthorizationPage,
): InputRequiredResult {
  if (person?.by === 'stream') {
    const elicitation = { mode: 'url' as const, elicitationId: id, url, message };
    throw new UrlElicitationRequiredError([elicitation], message);
  }
  return inputRequired({
    inputRequests: { [authorizationKey]: inputRequired.elicitUrl({ url, message }) },
    requestState: authorizationKey,
  });
}

/**
 * Returns the JSON in two forms: structured, for programs, and as text, for clients that pass only
 * text to the model.
 */
function toContent(structured: Structured) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(structured) }],
    structuredContent: { ...structured },
  };
}

function toResourceLink(file: StoredFile) {
  const { download_url: uri, name, content_type: mimeType, size, expires_at: expiresAt } = file;
  const description = `GET it with the same bearer, until ${expiresAt}.`;
  return { type: 'resource_link' as const, uri, name, mimeType, size, description };
}

function personOf(
  { isStateless, opensUrls }: McpRequest,
  { context: { mcpReq }, server }: { context: ServerContext; server: Server },
): Person | null {
  if (isStateless) {
    const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = (mcpReq.envelope ?? {}) as {
      [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
    };
    if (capabilities?.elicitation?.url === undefined) return null;
    const wasSent = mcpReq.requestState() === authorizationKey;
    return { by: 'retry', answered: answeredOf(mcpReq), wasSent };
  }
  if (!opensUrls) return null;
  return {
    by: 'stream',
    async ask({ id, url, message }) {
      const params = { mode: 'url' as const, elicitationId: id, url, message };
      return (await mcpReq.send({ method: 'elicitation/create', params })).action;
    },
    // The message is sent directly on the transport, because the server object would check the
    // client's capabilities. Only the session knows these.
    async done(id) {
      const params = { elicitationId: id };
      const method = 'notifications/elicitation/complete';
      await server.transport?.send({ jsonrpc: '2.0', method, params });
    },
  };
}

function answeredOf({
  requestState,
  inputResponses,
}: ServerContext['mcpReq']): { approvalId: string; accepted: boolean } | null {
  const approvalId = uuid.safeParse(requestState());
  if (!approvalId.success) return null;
  const answer = inputResponses?.[personKey] as { action?: unknown } | undefined;
  return { approvalId: approvalId.data, accepted: answer?.action === 'accept' };
}
