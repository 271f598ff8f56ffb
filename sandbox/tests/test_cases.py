"""The snippets of cases/: code as models write it, each with what must come out (its header says the same in words)."""
import hashlib

from support import BoxCase, case_file, read_case, unittest

UTF8_SALES = {'sales.csv': case_file('gbk.csv').decode('gbk').encode()}


class Cases(BoxCase):
    preload = 'full'

    def case(self, name, files=(), **limits):
        return self.run_code(read_case(name), files, limits)

    def test_carriage_returns(self):
        result = self.case('carriage-returns.py')
        self.assert_ok(result)
        self.assertEqual(result.text, 'done\n')
        self.assertTrue(result.stderr.endswith(b'2000/2000\n'))

    def test_dunder_file_path(self):
        result = self.case('dunder-file-path.py', UTF8_SALES)
        self.assert_ok(result)
        self.assertEqual(result.text, 'True\nmain ran\n')

    def test_fonts(self):
        for name in ('fonts-simhei.py', 'fonts-style-reset.py'):
            with self.subTest(name):
                result = self.case(name)
                self.assert_ok(result)
                self.assertIn('missing glyphs 0', result.text)
                self.assertEqual(result.stderr, b'')
                self.assertTrue(result.artifact('a.png')['content'].startswith(b'\x89PNG'))

    def test_other_scripts_with_default_fonts(self):
        code = read_case('fonts-simhei.py').replace('销售趋势（万元）', 'ملخص 요약 サマリー ₹ ① ✓★αβ −').replace("plt.rcParams['font.sans-serif'] = ['SimHei', 'Microsoft YaHei']\n", '')
        result = self.run_code(code)
        self.assert_ok(result)
        self.assertIn('missing glyphs 0', result.text)

    def test_gbk_read_and_plot(self):
        result = self.case('gbk-read-and-plot.py', {'销售数据 2026.csv': case_file('gbk.csv')})
        self.assert_ok(result)
        self.assertIn('8250', result.text)
        chart = result.artifact('趋势图.png')
        self.assertEqual(chart['sha256'], hashlib.sha256(chart['content']).hexdigest())
        self.assertEqual([chart['name'] for chart in result.artifacts], ['趋势图.png'])
        self.assertEqual(result.displays, [])

    def test_gui_backend(self):
        result = self.case('gui-backend.py')
        self.assert_ok(result)
        self.assertIn('shown', result.text)
        self.assertEqual([display['mimeType'] for display in result.displays], ['image/png'])

    def test_indented_block(self):
        result = self.case('indented-block.py')
        self.assert_ok(result)
        self.assertEqual(result.text, '6\n24\n')

    def test_input_prompt(self):
        result = self.case('input-prompt.py')
        self.assertEqual((result.verdict, result.error['name']), ('user_error', 'EOFError'))
        self.assertIn('对话', result.error['explanation']['zh'])
        self.assertIn('chat', result.error['explanation']['en'])

    def test_ipython_display(self):
        result = self.case('ipython-display.py')
        self.assert_ok(result)
        self.assertIn('after', result.text)
        self.assertEqual(len(result.displays), 2)
        self.assertEqual(result.displays[0]['table']['rows'], [['华东', 10], ['华南', 20]])
        self.assertEqual(result.displays[1]['content'].decode(), '<b>粗体</b>')

    def test_key_with_space(self):
        result = self.case('key-with-space.py', {'data.csv': case_file('dup-columns.csv')})
        self.assertEqual((result.verdict, result.error['name'], result.error['line']), ('user_error', 'KeyError', 3))
        for language in ('zh', 'en'):
            for column in ('金额', '金额.1', '备注', "'备注 '"):
                self.assertIn(column, result.error['explanation'][language])

    def test_magics(self):
        result = self.case('magics.py')
        self.assert_ok(result)
        self.assertIn('done', result.text)
        self.assertEqual([display['mimeType'] for display in result.displays], ['image/png'])

    def test_markdown_fence(self):
        result = self.case('markdown-fence.py')
        self.assert_ok(result)
        self.assertEqual(result.text, 'fenced\n')

    def test_mnt_data_path(self):
        result = self.case('mnt-data-path.py', UTF8_SALES)
        self.assert_ok(result)
        self.assertIn('total 15150', result.text)
        self.assertGreater(result.artifact('trend.png')['bytes'], 1000)
        self.assertEqual(result.artifact('trend.png')['mimeType'], 'image/png')
        content = result.artifact('trend.png')['content']
        self.assertEqual([result.artifact('trend.png')[side] for side in ('width', 'height')], [int.from_bytes(content[at:at + 4], 'big') for at in (16, 20)])

    def test_month_end_new(self):
        result = self.case('month-end-new.py')
        self.assert_ok(result)
        self.assertIn('[465, 1246, 59]', result.text)

    def test_nan_in_result(self):
        result = self.case('nan-in-result.py')
        self.assert_ok(result)
        table = result.displays[0]['table']
        self.assertEqual(table['rows'], [[1.0, None], [None, '2026-01-01'], ['Infinity', None]])
        self.assertIn('9007199254740993', result.displays[1]['text'])

    def test_network_read(self):
        result = self.case('network-read.py')
        self.assertEqual(result.verdict, 'user_error')
        self.assertLess(result.end['usage']['wallMs'], 3000)
        self.assertIn('上传', result.error['explanation']['zh'])
        self.assertIn('upload', result.error['explanation']['en'])

    def test_old_xls(self):
        result = self.case('old-xls.py', {'old.xls': case_file('real.xls')})
        self.assert_ok(result)
        self.assertIn('500', result.text)

    def test_overwrite_input(self):
        result = self.case('overwrite-input.py', UTF8_SALES)
        self.assert_ok(result)
        self.assertIn('6', result.text)
        self.assertIn('税额', result.artifact('sales.csv')['content'].decode())

    def test_plotly_show(self):
        result = self.case('plotly-show.py')
        self.assert_ok(result)
        self.assertIn('shown', result.text)
        page = result.displays[0]
        self.assertEqual(page['mimeType'], 'text/html')
        self.assertNotIn(b'cdn.plot.ly/plotly', page['content'])
        self.assertGreater(len(page['content']), 1_000_000)

    def test_process_pool(self):
        result = self.case('process-pool.py')
        self.assert_ok(result)
        self.assertIn('[1, 4, 9]', result.text)

    def test_recursion(self):
        result = self.case('recursion.py')
        self.assertEqual((result.verdict, result.error['name']), ('user_error', 'RecursionError'))
        self.assertLess(len(result.error['traceback']), 20_000)

    def test_save_then_show(self):
        result = self.case('save-then-show.py')
        self.assert_ok(result)
        self.assertEqual([artifact['name'] for artifact in result.artifacts], ['chart.png'])
        self.assertEqual(result.displays, [])

    def test_seaborn_chart(self):
        result = self.case('seaborn-chart.py')
        self.assert_ok(result)
        self.assertTrue(result.artifact('bar.png'))
        self.assertEqual(result.stderr, b'')

    def test_thread_left_running(self):
        result = self.case('thread-left-running.py', wallSeconds=3)
        self.assert_ok(result)
        self.assertIn('main done', result.text)
        self.assertEqual(result.artifact('made.txt')['content'], b'kept')

    def test_three_figures(self):
        result = self.case('three-figures.py')
        self.assert_ok(result)
        self.assertEqual([display['mimeType'] for display in result.displays], ['image/png'] * 3)
        self.assertEqual(len({display['content'] for display in result.displays}), 3)
        self.assertEqual([display['name'] for display in result.displays], ['figure-1.png', 'figure-2.png', 'figure-3.png'])

    def test_top_level_await(self):
        result = self.case('top-level-await.py')
        self.assert_ok(result)
        self.assertEqual(result.text, '42\n')

    def test_unicode_output_names(self):
        result = self.case('unicode-output-names.py')
        self.assert_ok(result)
        names = {'报表 2026（终稿）.csv', 'naïve.csv', '图📈.txt', "it's 100%.txt", 'a+b&c#d.txt'}
        self.assertEqual({artifact['name'] for artifact in result.artifacts}, names)
        for artifact in result.artifacts:
            self.assertEqual(artifact['content'].decode(), artifact['name'])

    def test_warnings_only(self):
        result = self.case('warnings-only.py')
        self.assert_ok(result)
        self.assertIn('result 7', result.text)
        self.assertIn(b'this is deprecated', result.stderr)
        self.assertIn(b'3 rows skipped', result.stderr)


if __name__ == '__main__':
    unittest.main()
