@problemName p
@classLabel true a b
1,2:3,4:a
