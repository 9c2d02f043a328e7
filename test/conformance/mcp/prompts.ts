import { acceptedContent, completable, inputRequired } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { Fixture } from './fixture-server.ts';
import { png } from './samples.ts';

const user = <C>(content: C) => ({ role: 'user' as const, content });
const say = (text: string) => user({ type: 'text' as const, text });

export function registerPrompts({ server }: Fixture): void {
  server.registerPrompt('test_simple_prompt', { description: 'Without arguments' }, () => ({
    messages: [say('This is a simple prompt for testing.')],
  }));
  const suggest = (value: string) =>
    ['test', 'paris', 'park'].filter((each) => each.startsWith(value));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'With arguments',
      argsSchema: z.object({
        arg1: completable(z.string().describe('First test argument'), suggest),
        arg2: z.string().describe('Second test argument'),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        user({
          type: 'resource' as const,
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        }),
        say('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'With an image' }, () => ({
    messages: [
      user({ type: 'image' as const, data: png, mimeType: 'image/png' }),
      say('Please analyze the image above.'),
    ],
  }));
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks first' },
    ({ mcpReq }) => {
      const context = acceptedContent(mcpReq.inputResponses, 'user_context')?.['context'];
      if (context !== undefined) return { messages: [say(`Context: ${String(context)}`)] };
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: 'What context should the prompt use?',
            requestedSchema: {
              type: 'object',
              properties: { context: { type: 'string' } },
              required: ['context'],
            },
          }),
        },
      });
    },
  );
}
