import { acceptedContent, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import type {
  CallToolResult,
  InputRequests,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';

import type { Fixture } from './fixture-server.ts';
import { toTextContent } from './samples.ts';
import { capabilitiesOf } from './stream-tools.ts';

type Answer = CallToolResult | InputRequiredResult;
type RunTool = (context: ServerContext) => Answer | Promise<Answer>;

function elicitField(message: string, field: string, type: 'string' | 'boolean' = 'string') {
  return inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { [field]: { type: type as 'string' } },
      required: [field],
    },
  });
}

function requestSampling(question: string, maxTokens: number) {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: question } }];
  return inputRequired.createMessage({ messages, maxTokens });
}

const readAnswer = ({ mcpReq }: ServerContext, key: string, field: string) => {
  const value = acceptedContent(mcpReq.inputResponses, key)?.[field];
  return value === undefined ? undefined : String(value);
};

/**
 * Registers tools of the MCP revision 2026-07-28 that need input from the client, and ask for it in
 * their answer.
 */
export function registerInputTools({ server, states }: Fixture): void {
  const registerInputTool = (name: string, run: RunTool) =>
    server.registerTool(
      `test_input_required_result_${name}`,
      { description: `Asks: ${name}` },
      run,
    );

  registerInputTool('elicitation', (context) => {
    const name = readAnswer(context, 'user_name', 'name');
    return name === undefined
      ? inputRequired({ inputRequests: { user_name: elicitField('What is your name?', 'name') } })
      : toTextContent(`Hello, ${name}!`);
  });
  registerInputTool('sampling', ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'capital_question');
    return answer.kind === 'sampling'
      ? toTextContent(JSON.stringify(answer.result))
      : inputRequired({
          inputRequests: {
            capital_question: requestSampling('What is the capital of France?', 100),
          },
        });
  });
  registerInputTool('list_roots', ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'client_roots');
    return answer.kind === 'roots'
      ? toTextContent(JSON.stringify(answer.roots))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  const requestConfirmation = async () =>
    inputRequired({
      inputRequests: { confirm: elicitField('Please confirm', 'ok', 'boolean') },
      requestState: await states.mint('confirming'),
    });
  const answerIfConfirmed = async (context: ServerContext) =>
    readAnswer(context, 'confirm', 'ok') === undefined
      ? requestConfirmation()
      : toTextContent('state-ok');
  registerInputTool('request_state', answerIfConfirmed);
  registerInputTool('tampered_state', answerIfConfirmed);
  registerInputTool('multiple_inputs', async ({ mcpReq }) => {
    const requestKeys = ['user_name', 'greeting', 'client_roots'];
    if (requestKeys.every((key) => inputResponse(mcpReq.inputResponses, key).kind !== 'missing')) {
      return toTextContent('Everything is there');
    }
    return inputRequired({
      inputRequests: {
        user_name: elicitField('What is your name?', 'name'),
        greeting: requestSampling('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await states.mint('three'),
    });
  });
  registerInputTool('multi_round', async (context) => {
    const color = readAnswer(context, 'step2', 'color');
    const state = context.mcpReq.requestState<string>();
    if (color !== undefined) return toTextContent(`${state} likes ${color}`);
    const name = readAnswer(context, 'step1', 'name');
    if (name !== undefined) {
      return inputRequired({
        inputRequests: { step2: elicitField('Step 2: What is your favorite color?', 'color') },
        requestState: await states.mint(name),
      });
    }
    return inputRequired({
      inputRequests: { step1: elicitField('Step 1: What is your name?', 'name') },
      requestState: await states.mint('first'),
    });
  });
  registerInputTool('capabilities', (context) => {
    const { sampling, elicitation } = capabilitiesOf(context);
    const inputRequests: InputRequests = {
      ...(sampling === undefined ? {} : { question: requestSampling('What is 1 + 1?', 10) }),
      ...(elicitation === undefined ? {} : { name: elicitField('What is your name?', 'name') }),
    };
    return Object.keys(inputRequests).length === 0
      ? toTextContent('Nothing to ask')
      : inputRequired({ inputRequests });
  });
}
