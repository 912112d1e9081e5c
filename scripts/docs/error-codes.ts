import { join, relative } from 'node:path'
import ts from 'typescript'
import { ROOT } from './pages.ts'
import { cleanComment } from './public-names.ts'

/** The codes of both kinds of failure, with what each means and the messages that come with it. */
export function writeErrorCodes(program: ts.Program): {
  readonly text: string
  readonly gaps: readonly string[]
} {
  const thrown = codesOf(program, 'src/errors.ts', 'ToolcribErrorCode')
  const returned = codesOf(program, 'src/tool.ts', 'CallErrorCode')
  const messages = messagesOf(program)
  const gaps = [...thrown, ...returned]
    .filter(({ comment }) => comment === '')
    .map(({ code }) => `the error code ${code} has no doc comment`)
  const text = `<!-- Written by \`npm run docs -- reference\` from the code. -->

# Error codes

A failure inside a call is a result for the model, \`{ ok: false, code, error }\`. A failure outside a call throws a
[\`ToolcribError\`](toolcrib.md#toolcriberror) for the host, with a \`code\` and often a \`cause\`. Tell failures apart by their code, never by their
message. [Troubleshooting](../guides/troubleshooting.md) says what to do about the common ones. \`…\` is a name or a value.

## Thrown

${thrown.map(section).join('\n\n')}

## Returned by a call

Tools may also return other codes.

${returned.map(section).join('\n\n')}
`
  return { text, gaps }

  function section({ code, comment }: Code): string {
    const known = [...(messages.get(code) ?? [])].sort()
    const list = known.map((message) => `- ${message}`).join('\n')
    return `### ${code}\n\n${comment}${list === '' ? '' : `\n\n${list}`}`
  }
}

interface Code {
  readonly code: string
  readonly comment: string
}

/** The members of a union of texts, each with the comment before it. */
function codesOf(program: ts.Program, file: string, name: string): readonly Code[] {
  const source = program.getSourceFile(join(ROOT, file))
  const found = source?.statements.find(
    (each): each is ts.TypeAliasDeclaration => ts.isTypeAliasDeclaration(each) && each.name.text === name,
  )
  if (!source || !found || !ts.isUnionTypeNode(found.type)) throw new Error(`${file} has no union ${name}`)
  return found.type.types.flatMap((type) => {
    if (!ts.isLiteralTypeNode(type) || !ts.isStringLiteral(type.literal)) return []
    // The comment is before the "|" or after it.
    const before = source.text.slice(0, type.getStart()).trimEnd().replace(/\|$/, '').trimEnd()
    const start = before.endsWith('*/') ? before.lastIndexOf('/**') : -1
    return [{ code: type.literal.text, comment: start === -1 ? '' : cleanComment(before.slice(start)) }]
  })
}

/** The messages that the code writes beside each code, with `…` for what varies. */
function messagesOf(program: ts.Program): ReadonlyMap<string, ReadonlySet<string>> {
  const messages = new Map<string, Set<string>>()
  const note = (code: ts.Node | undefined, message: ts.Node | undefined) => {
    if (!code || !message || !ts.isStringLiteral(code)) return
    const text = textOf(message)
    if (text === undefined || text.replaceAll('…', '').trim().length < 15) return
    messages.set(code.text, (messages.get(code.text) ?? new Set()).add(text))
  }
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && /^(ToolcribError|CapabilityError)$/.test(node.expression.getText()))
      note(node.arguments?.[0], node.arguments?.[1])
    if (ts.isObjectLiteralExpression(node)) note(propertyOf(node, 'code'), propertyOf(node, 'error'))
    ts.forEachChild(node, visit)
  }
  for (const source of program.getSourceFiles()) {
    const path = relative(ROOT, source.fileName)
    if (path.startsWith('src/') && !path.includes('contract')) visit(source)
  }
  return messages
}

function propertyOf(node: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = node.properties.find((each) => each.name?.getText() === name)
  return property && ts.isPropertyAssignment(property) ? property.initializer : undefined
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return escaped(node.text)
  if (ts.isTemplateExpression(node))
    return escaped([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…'))
  if (ts.isBinaryExpression(node)) {
    const parts = [textOf(node.left), textOf(node.right)]
    return parts.every((part) => part === undefined) ? undefined : parts.map((part) => part ?? '…').join('')
  }
  return undefined
}

function escaped(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[<>*_[\]{}`]/g, (mark) => `\\${mark}`)
}
