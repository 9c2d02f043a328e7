import { acceptedContent, completable, inputRequired } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { Fixture } from './fixture-server.ts';
import { pngBase64 } from './samples.ts';

const toUserMessage = <C>(content: C) => ({ role: 'user' as const, content });
const toUserText = (text: string) => toUserMessage({ type: 'text' as const, text });

export function registerPrompts({ server }: Fixture): void {
  server.registerPrompt('test_simple_prompt', { description: 'Without arguments' }, () => ({
    messages: [toUserText('This is a simple prompt for testing.')],
  }));
  const suggestValues = (value: string) =>
    ['test', 'paris', 'park'].filter((each) => each.startsWith(value));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'With arguments',
      argsSchema: z.object({
        arg1: completable(z.string().describe('First test argument'), suggestValues),
        arg2: z.string().describe('Second test argument'),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [toUserText(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        toUserMessage({
          type: 'resource' as const,
          resource: {
            uri: resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        }),
        toUserText('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'With an image' }, () => ({
    messages: [
      toUserMessage({ type: 'image' as const, data: pngBase64, mimeType: 'image/png' }),
      toUserText('Please analyze the image above.'),
    ],
  }));
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks first' },
    ({ mcpReq }) => {
      const context = acceptedContent(mcpReq.inputResponses, 'user_context')?.['context'];
      if (context !== undefined) return { messages: [toUserText(`Context: ${String(context)}`)] };
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
