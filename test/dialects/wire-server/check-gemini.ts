import { type Body, firstOf, isBody, list, repeated } from './body.ts'
import { checkGeminiSchema } from './check-schema.ts'

/** What Gemini would refuse a request for. */
export function checkGeminiRequest(body: Body): string | undefined {
  return firstOf(checkTools(list(body.tools)), checkContents(list(body.contents)))
}

function checkTools(tools: readonly Body[]): string | undefined {
  const declarations = tools.flatMap(({ functionDeclarations }) => list(functionDeclarations))
  if (declarations.length > 512) return 'at most 512 function declarations can be specified'
  for (const declaration of declarations) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(String(declaration.name))) return 'Invalid function name'
    if ('parameters' in declaration) return 'parameters and parametersJsonSchema are mutually exclusive'
    const fault = checkGeminiSchema(declaration.parametersJsonSchema)
    if (fault !== undefined) return `Invalid JSON payload received at ${declaration.name}: ${fault}`
  }
  const twice = repeated(declarations.map(({ name }) => String(name)))
  return twice === undefined ? undefined : `Duplicate function declaration found: ${twice}`
}

function checkContents(contents: readonly Body[]): string | undefined {
  if (contents.length === 0) return 'contents is not specified'
  if (contents[0]?.role !== 'user') return 'the first content should be with role user'
  if (contents.at(-1)?.role !== 'user') return 'the last content should be with role user'
  for (const [index, content] of contents.entries()) {
    const unread = JSON.stringify(content).match(/"mimeType":"(image\/(?:svg\+xml|gif)|text\/[^"]+)"/)?.[1]
    if (unread !== undefined) return `Unsupported MIME type: ${unread}`
    const parts = list(content.parts)
    if (parts.length === 0) return `contents[${index}].parts must not be empty`
    const calls = parts.flatMap(({ functionCall }) => (isBody(functionCall) ? [functionCall] : []))
    if (calls.length === 0) continue
    if (content.role !== 'model') return 'a function call must come from the model'
    if (contents[index - 1]?.role !== 'user')
      return 'function call turn must come immediately after a user turn or after a function response turn'
    if (calls.some(({ name }) => !/^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(String(name))))
      return 'function_call.name: invalid'
    if (parts.some((part) => part.functionCall && !part.thoughtSignature))
      return `contents[${index}]: Function call is missing a thought_signature`
    if (calls.some(({ args }) => args !== undefined && !isBody(args))) return 'args must be an object'
    const answers = list(contents[index + 1]?.parts).flatMap(({ functionResponse }) =>
      isBody(functionResponse) ? [functionResponse] : [],
    )
    if (answers.length !== calls.length)
      return 'the number of function response parts must equal the number of function call parts'
    const wrong = calls.find(
      ({ name, id }, place) => answers[place]?.name !== name || answers[place]?.id !== id,
    )
    if (wrong) return `function response does not match the call ${wrong.name}`
    if (answers.some(({ response }) => !isBody(response)))
      return 'function_response.response must be an object'
  }
  return undefined
}
