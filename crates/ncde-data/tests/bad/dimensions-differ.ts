@problemName p
@classLabel true a
@data
1,2:3,4:a
1,2:a
