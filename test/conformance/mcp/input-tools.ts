import { acceptedContent, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import type {
  CallToolResult,
  InputRequests,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';

import type { Fixture } from './fixture-server.ts';
import { text } from './samples.ts';
import { capabilitiesOf } from './stream-tools.ts';

type Answer = CallToolResult | InputRequiredResult;
type Run = (context: ServerContext) => Answer | Promise<Answer>;

function ask(message: string, field: string, type: 'string' | 'boolean' = 'string') {
  return inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { [field]: { type: type as 'string' } },
      required: [field],
    },
  });
}

function sample(question: string, maxTokens: number) {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: question } }];
  return inputRequired.createMessage({ messages, maxTokens });
}

const said = ({ mcpReq }: ServerContext, key: string, field: string) => {
  const value = acceptedContent(mcpReq.inputResponses, key)?.[field];
  return value === undefined ? undefined : String(value);
};

/** Tools of 2026-07-28 that need something of the client first, and say so in their answer. */
export function registerInputTools({ server, states }: Fixture): void {
  const tool = (name: string, run: Run) =>
    server.registerTool(
      `test_input_required_result_${name}`,
      { description: `Asks: ${name}` },
      run,
    );

  tool('elicitation', (context) => {
    const name = said(context, 'user_name', 'name');
    return name === undefined
      ? inputRequired({ inputRequests: { user_name: ask('What is your name?', 'name') } })
      : text(`Hello, ${name}!`);
  });
  tool('sampling', ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'capital_question');
    return answer.kind === 'sampling'
      ? text(JSON.stringify(answer.result))
      : inputRequired({
          inputRequests: { capital_question: sample('What is the capital of France?', 100) },
        });
  });
  tool('list_roots', ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'client_roots');
    return answer.kind === 'roots'
      ? text(JSON.stringify(answer.roots))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  const confirm = async () =>
    inputRequired({
      inputRequests: { confirm: ask('Please confirm', 'ok', 'boolean') },
      requestState: await states.mint('confirming'),
    });
  const confirmed = async (context: ServerContext) =>
    said(context, 'confirm', 'ok') === undefined ? confirm() : text('state-ok');
  tool('request_state', confirmed);
  tool('tampered_state', confirmed);
  tool('multiple_inputs', async ({ mcpReq }) => {
    const keys = ['user_name', 'greeting', 'client_roots'];
    if (keys.every((key) => inputResponse(mcpReq.inputResponses, key).kind !== 'missing')) {
      return text('Everything is there');
    }
    return inputRequired({
      inputRequests: {
        user_name: ask('What is your name?', 'name'),
        greeting: sample('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await states.mint('three'),
    });
  });
  tool('multi_round', async (context) => {
    const color = said(context, 'step2', 'color');
    const state = context.mcpReq.requestState<string>();
    if (color !== undefined) return text(`${state} likes ${color}`);
    const name = said(context, 'step1', 'name');
    if (name !== undefined) {
      return inputRequired({
        inputRequests: { step2: ask('Step 2: What is your favorite color?', 'color') },
        requestState: await states.mint(name),
      });
    }
    return inputRequired({
      inputRequests: { step1: ask('Step 1: What is your name?', 'name') },
      requestState: await states.mint('first'),
    });
  });
  tool('capabilities', (context) => {
    const { sampling, elicitation } = capabilitiesOf(context);
    const inputRequests: InputRequests = {
      ...(sampling === undefined ? {} : { question: sample('What is 1 + 1?', 10) }),
      ...(elicitation === undefined ? {} : { name: ask('What is your name?', 'name') }),
    };
    return Object.keys(inputRequests).length === 0
      ? text('Nothing to ask')
      : inputRequired({ inputRequests });
  });
}
