import { setTimeout as delay } from 'node:timers/promises';

import { inputRequired } from '@modelcontextprotocol/server';
import type { ClientCapabilities, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { Fixture } from './fixture-server.ts';
import { toTextContent } from './samples.ts';

const pauseMs = 50;

/** The client's capabilities. In the stateless revision, a client sends them with each request. */
export function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities {
  const { 'io.modelcontextprotocol/clientCapabilities': declared = {} } = (mcpReq.envelope ??
    {}) as {
    'io.modelcontextprotocol/clientCapabilities'?: ClientCapabilities;
  };
  return declared;
}

/** Registers tools that send messages or questions to the client before they answer. */
export function registerStreamTools({ server, changeTools }: Fixture): void {
  server.registerTool('test_tool_with_logging', { description: 'Logs' }, async ({ mcpReq }) => {
    await mcpReq.log('info', 'Tool execution started');
    await delay(pauseMs);
    await mcpReq.log('info', 'Tool processing data');
    await delay(pauseMs);
    await mcpReq.log('info', 'Tool execution completed');
    return toTextContent('Tool with logging executed successfully');
  });
  server.registerTool(
    'test_logging_tool',
    { description: 'Logs if asked to' },
    async ({ mcpReq }) => {
      await mcpReq.log('info', 'A log message');
      return toTextContent('Logged');
    },
  );
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Progresses' },
    async ({ mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100 };
          await mcpReq.notify({ method: 'notifications/progress', params });
        }
        await delay(pauseMs);
      }
      return toTextContent('Tool with progress executed successfully');
    },
  );
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model of the client', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const messages = [
        { role: 'user' as const, content: { type: 'text' as const, text: prompt } },
      ];
      const params = { messages, maxTokens: 100 };
      const answer = await mcpReq.send({ method: 'sampling/createMessage', params });
      return toTextContent(`LLM response: ${JSON.stringify(answer.content)}`);
    },
  );
  registerElicitations(server);
  server.registerTool('test_missing_capability', { description: 'Needs sampling' }, () =>
    // The tool need not check the client's capabilities: the SDK refuses to ask a client for a
    // capability that the client has not declared.
    inputRequired({
      inputRequests: { model: inputRequired.createMessage({ messages: [], maxTokens: 1 }) },
    }),
  );
  server.registerTool('test_streaming_elicitation', { description: 'Asks by answering' }, () =>
    inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: 'What is your name?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
        }),
      },
    }),
  );
  server.registerTool('test_trigger_tool_change', { description: 'Changes the list' }, async () => {
    await changeTools();
    return toTextContent('Changed');
  });
}

function registerElicitations(server: Fixture['server']): void {
  const elicit = async (
    { mcpReq }: ServerContext,
    message: string,
    properties: Record<string, unknown>,
  ) => {
    const requestedSchema = { type: 'object', properties, required: Object.keys(properties) };
    const params = { message, requestedSchema };
    return mcpReq.send({ method: 'elicitation/create', params });
  };
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the person', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, context) => {
      const { action, content } = await elicit(context, message, {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      });
      return toTextContent(`User response: action=${action}, content=${JSON.stringify(content)}`);
    },
  );
  server.registerTool(
    'test_elicitation_sep1034_defaults',
    { description: 'Asks with defaults' },
    async (context) => {
      const { action, content } = await elicit(context, 'Please review and update the form', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      });
      return toTextContent(
        `Elicitation completed: action=${action}, content=${JSON.stringify(content)}`,
      );
    },
  );
  const plainOptions = ['option1', 'option2', 'option3'];
  const titledOptions = [1, 2, 3].map((each) => ({
    const: `value${each}`,
    title: `Option ${each}`,
  }));
  server.registerTool(
    'test_elicitation_sep1330_enums',
    { description: 'Asks with choices' },
    async (context) => {
      const { action, content } = await elicit(context, 'Please choose', {
        untitledSingle: { type: 'string', enum: plainOptions },
        titledSingle: { type: 'string', oneOf: titledOptions },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: plainOptions } },
        titledMulti: { type: 'array', items: { anyOf: titledOptions } },
      });
      return toTextContent(
        `Elicitation completed: action=${action}, content=${JSON.stringify(content)}`,
      );
    },
  );
}
