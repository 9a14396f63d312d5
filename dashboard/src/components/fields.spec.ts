import { mount } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { getElement } from '@/testing/mount'

import BaseFormDialog from './BaseFormDialog.vue'
import BaseListField from './BaseListField.vue'
import BaseNumberField from './BaseNumberField.vue'
import BaseSelect from './BaseSelect.vue'
import BaseTextField from './BaseTextField.vue'

test('a field has its label, error and hint', () => {
  const field = mount(BaseTextField, { props: { label: 'Name', hint: 'Visitors see this name.', error: 'takes a text', modelValue: '' } })
  const input = field.find('input')
  expect(field.find('label').attributes('for')).toBe(input.attributes('id'))
  const described = input.attributes('aria-describedby')!.split(' ').map((id) => field.find(`[id="${id}"]`).text())
  expect(described).toEqual(['takes a text', 'Visitors see this name.'])
  expect(input.attributes('aria-invalid')).toBe('true')
})

test('an empty number is null and invalid text is NaN', async () => {
  const field = mount(BaseNumberField, { props: { label: 'Quota', modelValue: 5 } })
  for (const typed of ['700', '', ' 12 ', 'many', '1.5', '-3', '1e3', '0']) await field.find('input').setValue(typed)
  expect(field.emitted('update:modelValue')!.map(([value]) => value)).toEqual([700, null, 12, NaN, 0])
})

test('a number set from outside replaces the text', async () => {
  const field = mount(BaseNumberField, { props: { label: 'Quota', modelValue: 5 } })
  await field.setProps({ modelValue: 70 })
  expect(field.find('input').element.value).toBe('70')
  await field.find('input').setValue('007')
  await field.setProps({ modelValue: 7 })
  expect(field.find('input').element.value).toBe('007')
})

test('a list has one entry per line without empty lines', async () => {
  const field = mount(BaseListField, { props: { label: 'Hosts', modelValue: ['a.example'] } })
  expect(field.find('textarea').element.value).toBe('a.example')
  await field.find('textarea').setValue(' a.example \n\nb.example\n')
  expect(field.emitted('update:modelValue')!.at(-1)).toEqual([['a.example', 'b.example']])
  await field.setProps({ modelValue: ['a.example', 'b.example'] })
  // Text is not normalized while it is typed.
  expect(field.find('textarea').element.value).toBe(' a.example \n\nb.example\n')
})

test('a select emits typed values', async () => {
  const options = [{ value: null, label: 'All' }, { value: 15, label: 'A quarter' }]
  const field = mount(BaseSelect<number | null>, { props: { label: 'Span', options, modelValue: 15 } })
  expect(field.find('select').element.selectedIndex).toBe(1)
  field.find('select').element.selectedIndex = 0
  await field.find('select').trigger('change')
  expect(field.emitted('update:modelValue')).toEqual([[null]])
})

test('a click outside closes a form only while nothing was typed', async () => {
  const dialog = mount(BaseFormDialog, { props: { open: true, title: 'Event', action: 'Save' }, slots: { default: '<input class="typed">' }, attachTo: document.body })
  const clickOutside = async () => {
    await new Promise((settled) => setTimeout(settled))
    document.body.dispatchEvent(new MouseEvent('pointerdown', { bubbles: true, button: 0 }))
    await new Promise((settled) => setTimeout(settled))
  }
  await new Promise((settled) => setTimeout(settled))
  getElement('.typed').dispatchEvent(new Event('input', { bubbles: true }))
  await clickOutside()
  expect(dialog.emitted('update:open')).toBeUndefined()
  await dialog.setProps({ open: false })
  await dialog.setProps({ open: true })
  await clickOutside()
  expect(dialog.emitted('update:open')).toEqual([[false]])
  dialog.unmount()
})
