import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from './pages.ts'
import { cleanComment } from './public-names.ts'

/** The codes of both kinds of failure, with what each means. */
export function writeErrorCodes(program: ts.Program): {
  readonly text: string
  readonly gaps: readonly string[]
} {
  const thrown = codesOf(program, 'packages/core/src/errors.ts', 'ToolcribErrorCode')
  const returned = codesOf(program, 'packages/core/src/tool.ts', 'CallErrorCode')
  const gaps = [...thrown, ...returned]
    .filter(({ comment }) => comment === '')
    .map(({ code }) => `the error code ${code} has no doc comment`)
  const text = `<!-- Written by \`npm run docs -- reference\` from the code. -->

# Error codes

A failure inside a call is a result for the model, \`{ ok: false, code, error }\`. A failure outside a call throws a
[\`ToolcribError\`](toolcrib.md#toolcriberror) for the host, with a \`code\` and often a \`cause\`. Tell failures apart by their code, never by their
message. [Troubleshooting](../guides/troubleshooting.md) says what to do about the common ones.

## Thrown

${thrown.map(section).join('\n\n')}

## Returned by a call

Tools may also return other codes.

${returned.map(section).join('\n\n')}
`
  return { text, gaps }

  function section({ code, comment }: Code): string {
    return `### ${code}\n\n${comment}`
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
