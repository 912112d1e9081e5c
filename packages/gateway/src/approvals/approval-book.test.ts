import { memoryStore } from '@toolcrib/core/stores'
import { expect, it } from 'vitest'
import { ApprovalBooks, type ApprovalSubject } from './approval-book.ts'

it('a client that approves its own calls again and again pushes out no grant of another', async () => {
  const books = new ApprovalBooks(memoryStore(), () => 0)
  const subject = (principal: string, session: string): ApprovalSubject => ({
    ...{ tool: 'wipe', digest: 'd', definition: 'x', principal, session },
  })
  await books.grant(subject('ada', 's'), 'always', 'ada')
  for (let n = 0; n < 520; n++) await books.grant(subject('mallory', `s${n}`), 'session', `mallory ${n}`)
  expect(await books.use(subject('ada', 's'))).toMatchObject({ kind: 'always' })
  expect(await books.use(subject('mallory', 's0'))).toBeUndefined()
  expect(await books.use(subject('mallory', 's519'))).toBeDefined()
  expect((await books.read()).grants).toHaveLength(501)
})
