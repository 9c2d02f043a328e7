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
import { validate } from '../domain/validate.ts';
import { toEnvelope } from '../plugins/error-handler.ts';
import { askedOfTool, recordRefused } from '../refused.ts';
import type { Person } from './person.ts';
import { sessionVersions } from './session-id.ts';
import type {
  AuthorizationPage,
  PersonPage,
  Structured,
  Tool,
  ToolAnswer,
  ToolCall,
} from './tool.ts';
import { mayApproveSelf, serviceApproveSelf } from './tools/approvals.ts';
import { tools } from './tools/index.ts';

/** One request over MCP, whoever serves it. */
export interface McpRequest extends Omit<ToolCall, 'signal' | 'person'> {
  /** The revision without sessions: what the client can do comes with the request itself. */
  readonly isStateless: boolean;
  /** What the client said at `initialize`: it opens URLs for its user. */
  readonly opensUrls: boolean;
}

const serverInfo = {
  name: 'agent-action-gateway',
  title: 'Agent Action Gateway',
  version: '1.0.0',
};
const instructions =
  'Acts on the services of a user, with their credentials and under their rules. Find actions with service_search; call them with service_read (reads) or service_call. A result with status pending_approval waits for a person: show them approval_url, then call service_call with approval_id alone.';

/** The name under which a retry brings back what the person answered. */
const personKey = 'approval';
const authorizationKey = 'authorization';

/** One for all servers: making one compiles schemas. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/** A protocol server for one request. It costs microseconds; what has to be kept is kept elsewhere. */
export function createProtocolServer(request: McpRequest): Server {
  const { server } = new McpServer(serverInfo, {
    capabilities: { tools: { listChanged: true } },
    instructions,
    jsonSchemaValidator,
    supportedProtocolVersions: [...sessionVersions],
  });

  server.setRequestHandler('tools/list', async () => {
    const listed = (await mayApproveSelf(request))
      ? tools
      : tools.filter((tool) => tool !== serviceApproveSelf);
    return { tools: listed.map(describeTool) };
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
    return present(
      call.person,
      await tool.run(validate(tool.input, given, 'arguments') as never, call),
    );
  } catch (thrown) {
    if (thrown instanceof UrlElicitationRequiredError) throw thrown;
    const error = toToolError(await recorded(AppError.from(thrown), { tool, given, call }));
    const { requestId } = call.context;
    if (error.code === 'internal') {
      call.deps.logger.error(
        { err: error.cause ?? error, requestId, tool: tool.name },
        'tool failed',
      );
    }
    return { ...asContent(toEnvelope(error, requestId)), isError: true };
  }
}

/** The error to answer with: the given one, once the audit log has what belongs there. */
async function recorded(
  error: AppError,
  { tool, given, call }: { tool: Tool; given: Structured; call: ToolCall },
): Promise<AppError> {
  const asked = askedOfTool(tool, given);
  if (asked === null) return error;
  try {
    await recordRefused(call.deps.refusals, { asked, asker: call, error });
    return error;
  } catch (failure) {
    return AppError.from(failure);
  }
}

/**
 * Wrong arguments are a result with the tool's own error, not a protocol error: so the model sees
 * what to correct. To it they are the params of a call, whatever part of us found them wrong.
 */
function toToolError(error: AppError): AppError {
  if (error.code !== 'invalid_request') return error;
  return new AppError('invalid_params', error.message, { details: error.details, cause: error });
}

function present(person: Person | null, answer: ToolAnswer): CallToolResult | InputRequiredResult {
  if (answer.kind === 'result') {
    const { structuredContent, content } = asContent(answer.structured);
    return { structuredContent, content: [...content, ...answer.files.map(linkTo)] };
  }
  if (answer.kind === 'authorize') return authorize(person, answer.page);
  const { approvalId, url, message }: PersonPage = answer.page;
  return inputRequired({
    inputRequests: { [personKey]: inputRequired.elicitUrl({ url, message }) },
    // No secret and no authority: only its requester can resume it.
    requestState: approvalId,
  });
}

/** The call cannot be made before its person has been to a page; then the client makes it again. */
function authorize(
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

/** The same JSON twice: for programs, and as text for models whose client passes on nothing else. */
function asContent(structured: Structured) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(structured) }],
    structuredContent: { ...structured },
  };
}

function linkTo(file: StoredFile) {
  const { download_url: uri, name, content_type: mimeType, size, expires_at: until } = file;
  const description = `GET it with the same bearer, until ${until}.`;
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
    // Past the server, which would look for capabilities that it never saw: the session has them.
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
